"""`stalwart verify`: what is said, where, as what; and that none of it fails anything."""

import json
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from django.core.management import call_command
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from runs import agentfile, sarif
from runs.tools.lints import MENDS
from runs.verify import Located, verify
from stalwart_site import at_start
from tests.factories import answer, approve_all, make_agent, question, start, until
from tests.world import WORLD

pytestmark = pytest.mark.django_db(transaction=True)

TOOLS = '''"""Tools of a shop."""

from typing import Any

from runs.tools import tool


@tool(writes=True)
def provision(order: int) -> Any:
    """Nobody said what undoes it."""


@tool(writes=True, irreversible=True, confirm=False)
def mail(order: int) -> Any:
    """Asks nobody."""
'''
AGENTS = """agents:
  shop:
    tools:
      - provision
      - mail
  mailer:
    tools: [mail]
tools:
  - python: {module}
  - mail:
      retry_safe: true
"""


@pytest.fixture
def only(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No agents but those that a test registers."""
    settings.AGENT_FILES = []
    monkeypatch.setattr(agentfile, "_known", {})


@pytest.fixture
def shop(only: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of tools, and an agent file with two agents, in which every kind of place occurs."""
    module = f"shop_{tmp_path.name.replace('-', '_')}"
    folder = tmp_path / "läden und mehr"
    folder.mkdir()
    (folder / f"{module}.py").write_text(TOOLS)
    (folder / "agent.yaml").write_text(AGENTS.format(module=module))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.chdir(folder)
    agentfile.register(folder / "agent.yaml")
    return folder


def command(*arguments: str) -> tuple[str, int]:
    """What `stalwart verify` prints, and its exit code."""
    said = StringIO()
    try:
        call_command("verify", *arguments, stdout=said)
    except SystemExit as ended:
        return said.getvalue(), int(str(ended.code))
    return said.getvalue(), 0


def places(found: list[Located]) -> dict[str, str]:
    """`lint tool` -> file:line."""
    return {f"{item.finding.lint} {item.finding.tool}": str(item.place).rpartition("/")[2] for item in found}


# --- Rules ----------------------------------------------------------------------------------------------
RULES = """rules:
  no_mail_at_all:
    tools: mail
    refuse: true
  never:
    tools: provision
    refuse: true
    when: 1 > 2
  large_orders:
    tools: provision
    ask: lead
    because: they are checked by hand
    when: args.order > 1000
"""


@pytest.fixture
def ruled(shop: Path) -> Path:
    """The same shop, with rules."""
    (shop / "rules.yaml").write_text(RULES)
    (shop / "agent.yaml").write_text("rulebook: rules.yaml\n" + (shop / "agent.yaml").read_text())
    agentfile._known.clear()
    agentfile.register(shop / "agent.yaml")
    return shop


def test_it_shows_the_rules_in_words(ruled: Path) -> None:
    said, _ = command("--no-record")
    assert said.endswith(
        "shop, mailer: 3 rule(s)\n"
        "  no_mail_at_all: mail: refused.\n"
        "  never: provision: refused, when 1 > 2.\n"
        "  large_orders: provision: a person with the role lead is asked, when args.order > 1000.\n"
        "    because they are checked by hand\n"
    )


def test_it_finds_a_rule_that_can_never_fire_at_its_line(ruled: Path) -> None:
    assert places(verify(record=False))["rule_never_fires never"] == "rules.yaml:5"
    said, _ = command("--no-record")
    assert "rules.yaml:5: never: rule_never_fires: its condition is never true" in said.splitlines()
    assert f"rule_never_fires: {MENDS['rule_never_fires']}" in said.splitlines()


def test_a_rule_for_another_agent_is_not_odd(ruled: Path) -> None:
    """The mailer cannot provision, and the shop can. Asked about alone, the mailer has a rule that never fires."""
    assert "rule_never_fires large_orders" not in places(verify(record=False))
    assert places(verify("mailer", record=False))["rule_never_fires large_orders"] == "rules.yaml:9"


# --- None fails anything ------------------------------------------------------------------------------
def test_none_fails_anything(shop: Path) -> None:
    said, code = command()
    assert code == 0
    assert "finding(s). None of them stops anything." in said
    assert agentfile.agents().keys() == {"shop", "mailer"}  # registered all the same


def test_strict_makes_any_finding_an_error(shop: Path, tmp_path: Path) -> None:
    assert command("--strict")[1] == 1
    make_agent(tmp_path, "reader", ["read"])
    assert command("reader", "--strict") == ("Nothing found.\n", 0)


def test_each_finding_is_a_line_with_its_place_and_each_lint_says_how_to_mend_it(shop: Path) -> None:
    said, _ = command("--no-record")
    [line] = [line for line in said.splitlines() if "QG105" in line and line.startswith("agent.yaml")]
    assert line == (
        "agent.yaml:4: provision: QG105: a write with neither an undo nor irreversible, on a route with another "
        "write: a failed run cannot undo it, and nothing says so (provision, then mail)"
    )
    assert f"QG105: {MENDS['QG105']}" in said.splitlines()


def test_a_finding_stands_at_the_line_that_it_is_about(shop: Path) -> None:
    at, module = places(verify(record=False)), next(shop.glob("*.py")).name
    assert at["write_without_compensation provision"] == f"{module}:8"  # its decorator
    assert at["lookup_missing mail"] == "agent.yaml:10"  # the agent file says more of it
    assert at["QG105 provision"] == "agent.yaml:4"  # the tool in the agent's list


def test_one_agent_is_read_with_its_tools_alone(shop: Path) -> None:
    assert {item.finding.tool for item in verify("mailer")} == {"mail"}
    with pytest.raises(SystemExit, match="1"):
        call_command("verify", "nobody", stderr=StringIO())


def test_what_two_files_find_at_one_place_is_said_once(only: None, tmp_path: Path) -> None:
    for name in ("one", "two"):
        make_agent(tmp_path, name)
    found = verify(record=False)
    bare = [item.finding for item in found if item.finding.lint == "write_without_compensation"]
    assert [(item.tool, item.agents) for item in bare] == [
        ("refund", ("one", "two")),
        ("untag", ("one", "two")),
    ]
    assert len({(str(item.place), item.finding) for item in found}) == len(found)


def test_a_tool_that_two_files_know_differently_is_told_apart(shop: Path, tmp_path: Path) -> None:
    other = shop / "other.yaml"
    module = next(shop.glob("*.py")).stem
    other.write_text(
        f"agents: {{careful: {{tools: [mail]}}}}\ntools: [{{python: {module}}}, {{mail: {{confirm: true}}}}]"
    )
    agentfile.register(other)
    silent = [item.finding for item in verify() if item.finding.lint == "irreversible_without_confirmation"]
    assert [item.agents for item in silent] == [("shop", "mailer")]


def test_the_json_has_the_same(shop: Path) -> None:
    said = json.loads(command("--json", "--no-record")[0])
    [qg] = [item for item in said if item["lint"] == "QG105"]
    assert qg == {
        "lint": "QG105",
        "tool": "provision",
        "message": "a write with neither an undo nor irreversible, on a route with another write: a failed run "
        "cannot undo it, and nothing says so",
        "agents": ["shop"],
        "route": ["provision", "mail"],
        "mend": MENDS["QG105"],
        "file": str(shop / "agent.yaml"),
        "line": 4,
    }
    assert len(said) == len(verify(record=False))


# --- SARIF --------------------------------------------------------------------------------------------
def _object(required: str = "", **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required.split(),
        "properties": properties,
        "additionalProperties": False,
    }


TEXT, LEVEL = {"type": "string"}, {"enum": ["none", "note", "warning", "error"]}
MESSAGE = _object("text", text=TEXT)
# Of the published schema of SARIF 2.1.0 the objects that we write: what each must have, and which members it may have.
SHAPE = _object(
    "version runs",
    **{"$schema": TEXT},
    version={"const": "2.1.0"},
    runs={
        "type": "array",
        "items": _object(
            "tool",
            tool=_object(
                "driver",
                driver=_object(
                    "name",
                    name=TEXT,
                    version=TEXT,
                    rules={
                        "type": "array",
                        "uniqueItems": True,
                        "items": _object(
                            "id",
                            id=TEXT,
                            shortDescription=MESSAGE,
                            help=MESSAGE,
                            defaultConfiguration=_object(level=LEVEL),
                        ),
                    },
                ),
            ),
            originalUriBaseIds={"type": "object", "additionalProperties": _object(uri=TEXT)},
            results={
                "type": "array",
                "items": _object(
                    "message",
                    ruleId=TEXT,
                    ruleIndex={"type": "integer", "minimum": -1},
                    level=LEVEL,
                    message=MESSAGE,
                    locations={
                        "type": "array",
                        "items": _object(
                            physicalLocation=_object(
                                "artifactLocation",
                                artifactLocation=_object(uri=TEXT, uriBaseId=TEXT),
                                region=_object("startLine", startLine={"type": "integer", "minimum": 1}),
                            ),
                            logicalLocations={"type": "array", "items": _object(name=TEXT, kind=TEXT)},
                        ),
                    },
                    partialFingerprints={"type": "object", "additionalProperties": TEXT},
                    properties={"type": "object"},
                ),
            },
        ),
    },
)


def test_the_sarif_has_the_shape_that_the_schema_asks_for(shop: Path) -> None:
    made = sarif.report(verify())
    Draft202012Validator(SHAPE).validate(made)
    [run] = made["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    names = [result["partialFingerprints"]["stalwart/v1"] for result in run["results"]]
    assert len(set(names)) == len(names)


def test_the_sarif_names_the_file_and_the_line_of_each_finding(shop: Path) -> None:
    [run] = sarif.report(verify())["runs"]
    base = run["originalUriBaseIds"]["%SRCROOT%"]["uri"]
    assert unquote(base) == f"file://{shop}/"
    for result in run["results"]:
        [location] = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uriBaseId"] == "%SRCROOT%"
        lines = (shop / unquote(place["artifactLocation"]["uri"])).read_text().splitlines()
        line = lines[place["region"]["startLine"] - 1]
        assert line.startswith("@tool") or location["logicalLocations"][0]["name"] in line


def test_a_file_outside_of_the_folder_has_its_whole_address(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    addresses = {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in sarif.report(verify())["runs"][0]["results"]
    }
    assert all(address.startswith("file:///") for address in addresses)
    assert all(address.isascii() for address in addresses)


def test_the_sarif_goes_to_a_file_or_alone_to_stdout(shop: Path) -> None:
    said, code = command("--sarif", "found.sarif", "--strict")
    assert (code, "finding(s)" in said) == (1, True)
    Draft202012Validator(SHAPE).validate(json.loads((shop / "found.sarif").read_text()))
    Draft202012Validator(SHAPE).validate(json.loads(command("--sarif", "-")[0]))
    for arguments, status in ((("--sarif", "-", "--json"), 2), (("--sarif", "no/such/folder"), 1)):
        with pytest.raises(SystemExit, match=str(status)):
            call_command("verify", *arguments, stdout=StringIO(), stderr=StringIO())


# --- What the record says -----------------------------------------------------------------------------
def never_run() -> set[str]:
    """The writes of the agent `tester` whose undo no run has ever executed."""
    return {item.finding.tool for item in verify("tester") if item.finding.lint == "undo_never_run"}


def test_an_undo_that_no_run_has_executed_is_said_until_one_has(agent: str) -> None:
    assert never_run() == {"charge", "tag", "pay", "odd"}
    WORLD.script = {"tag": ["raises"]}
    assert approve_all(start(agent, "charge 1 40.00, then tag 1")).state == "rolled_back"
    assert never_run() == {"tag", "pay", "odd"}  # that refund undoes a payment, too, is not known by this


def test_a_refund_that_an_agent_asks_for_is_no_undo(agent: str) -> None:
    run = start(agent, "", steps=[_refund()])
    assert approve_all(run).state == "succeeded"
    assert "charge" in never_run()


def _refund() -> Any:
    from runs.services import Proposal

    return Proposal("refund", {"charge": "ch_1", "amount": "1.00"})


def test_an_undo_that_somebody_did_by_hand_was_not_executed(agent: str) -> None:
    WORLD.script = {"tag": ["raises"], "refund": ["raises"] * 4}
    run = approve_all(start(agent, "charge 1 40.00, then tag 1"))
    until(run, "stuck")
    assert question(run).asks == "undo"
    answer(run, "done_by_hand", reference="rf_22")
    assert until(run, "rolled_back").steps.get(undoes__isnull=False).state == "performed"
    assert "charge" in never_run()


def test_an_undo_that_another_agent_of_the_file_has_executed_is_proven(only: None, tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    tools = "[charge, refund, tag, untag]"
    path.write_text(
        f"agents: {{tester: {{tools: {tools}}}, twin: {{tools: {tools}}}}}\ntools: [{{python: tests.world}}]"
    )
    agentfile.register(path)
    assert never_run() == {"charge", "tag"}
    WORLD.script = {"tag": ["raises"]}
    approve_all(start("twin", "charge 1 40.00, then tag 1"))
    assert never_run() == {"tag"}


def test_another_agent_of_the_name_of_its_tools_proves_nothing(agent: str, tmp_path: Path) -> None:
    other = make_agent(tmp_path, "other")
    WORLD.script = {"tag": ["raises"]}
    approve_all(start(other, "charge 1 40.00, then tag 1"))
    assert "charge" in never_run()


# --- At the start -------------------------------------------------------------------------------------
def said_at_the_start() -> list[str]:
    lines: list[str] = []
    at_start.say_findings(lines.append)
    return lines


def test_the_start_says_in_one_line_how_much_is_found(shop: Path) -> None:
    count = len(verify())
    assert said_at_the_start() == [f"{count} findings about tools and agents: run `stalwart verify`."]


def test_the_start_says_nothing_where_nothing_is_found_or_it_is_said_already(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(at_start.IN_HOUSE, "1")
    assert said_at_the_start() == []
    monkeypatch.delenv(at_start.IN_HOUSE)
    monkeypatch.setattr(agentfile, "_known", {})
    assert said_at_the_start() == []


@pytest.mark.parametrize(
    "body", ["raise SystemExit(3)", "1 / 0", "import os; os._exit(4)", "import no_such_module"]
)
def test_a_module_that_cannot_be_imported_stops_no_start(
    only: None, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    module = f"broken_{abs(hash(body))}"
    (tmp_path / f"{module}.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "agent.yaml"
    path.write_text(f"agents: {{a: {{tools: [x]}}}}\ntools: [{{python: {module}}}]")
    settings.AGENT_FILES = [path]
    [line] = said_at_the_start()
    assert line.startswith("The agents cannot be read: ")
