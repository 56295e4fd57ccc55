"""axe-core on a page as it stands: WCAG 2.2 A and AA, and what its authors call best practices."""

from typing import TYPE_CHECKING, Any

from axe_playwright_python.sync_playwright import Axe

if TYPE_CHECKING:
    from playwright.sync_api import Page

EVERY_RULE = {
    "type": "tag",
    "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}
# Those to which light and dark are different pages.
RULES_OF_COLOUR = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 780}


def violations(page: "Page", rules: dict[str, Any] = EVERY_RULE) -> list[str]:
    """What axe finds, a line each: the rule, the element, and why."""
    said = Axe().run(page, options={"resultTypes": ["violations"], "runOnly": rules}).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:200]}: {' '.join(node['failureSummary'].split())}"
        for rule in said
        for node in rule["nodes"]
    ]


def violations_in_every_look(page: "Page") -> list[str]:
    """Light and dark, on a desk and on a phone."""
    found = []
    for size in (DESK, PHONE):
        page.set_viewport_size({**size})  # type: ignore[typeddict-item]
        for scheme, rules in (("light", EVERY_RULE), ("dark", RULES_OF_COLOUR)):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            found += [f"{size['width']} px, {scheme}: {line}" for line in violations(page, rules)]
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({**DESK})  # type: ignore[typeddict-item]
    return found
