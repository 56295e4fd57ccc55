"""Findings as SARIF 2.1.0 (OASIS), for editors and code hosts that show them at their lines."""

from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from runs.digest import sha256
from runs.tools.lints import MENDS, OF_AGENTS, OF_RULES
from runs.verify import Located

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"
NOTES = frozenset({"lookup_missing", "undo_never_run"})  # the others are warnings
PLACES = {lint: place for place, lint in enumerate(MENDS)}


def report(found: Iterable[Located]) -> dict[str, Any]:
    """One SARIF log of one run. Addresses are relative to the folder we are in, where the file is inside it."""
    driver = {"name": "stalwart", "version": version("stalwart"), "rules": [_rule(lint) for lint in MENDS]}
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {ROOT: {"uri": f"{Path.cwd().as_uri()}/"}},
        "results": [_result(item) for item in found],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(lint: str) -> dict[str, Any]:
    return {
        "id": lint,
        "shortDescription": {"text": lint.replace("_", " ")},
        "help": {"text": MENDS[lint]},
        "defaultConfiguration": {"level": _level(lint)},
    }


def _result(item: Located) -> dict[str, Any]:
    finding, artifact = item.finding, _artifact(item.place.path)
    place = {"artifactLocation": artifact, "region": {"startLine": item.place.line}}
    name = {"name": finding.tool, "kind": "object" if finding.lint in OF_RULES else "function"}
    whose = list(finding.agents) if finding.lint in OF_AGENTS else []
    identity = sha256([finding.lint, finding.tool, finding.message, artifact["uri"], whose])
    return {
        "ruleId": finding.lint,
        "ruleIndex": PLACES[finding.lint],
        "level": _level(finding.lint),
        "message": {"text": f"{finding.tool}: {finding.words}"},
        "locations": [{"physicalLocation": place, "logicalLocations": [name]}],
        "partialFingerprints": {"stalwart/v1": identity},
        "properties": {"agents": list(finding.agents), "route": list(finding.route)},
    }


def _level(lint: str) -> str:
    return "note" if lint in NOTES else "warning"


def _artifact(path: Path) -> dict[str, str]:
    if path.is_relative_to(Path.cwd()):
        return {"uri": quote(path.relative_to(Path.cwd()).as_posix()), "uriBaseId": ROOT}
    return {"uri": path.as_uri()}
