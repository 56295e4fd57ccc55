"""No page scrolls sideways, from a desk to a phone and to 400 %."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDTHS = (1280, 900, 768, 390, 360, 320)  # 320 is 1280 at 400 %


def too_wide(page: "Page") -> list[int]:
    """The widths at which the page as it stands scrolls sideways; it is left at the last one."""
    return [width for width in WIDTHS if _scrolls(page, width)]


def _scrolls(page: "Page", width: int) -> bool:
    page.set_viewport_size({"width": width, "height": 800})
    return int(page.evaluate("document.documentElement.scrollWidth")) > width
