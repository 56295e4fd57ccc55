"""How long the lints and the routes of a large agent take.

    python -m bench.lints

Seconds of one processor, for 500 tools under each kind of order rule, beside half as many: they may grow with the
square of the tools. Needs the environment of development. Not a test: nothing fails for being slow.
"""

import os
import time
from collections.abc import Callable

import django

ROUNDS = 3  # the best counts: others may use the machine


def main() -> None:
    """A line for each kind of order."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "stalwart_site.settings"
    django.setup()
    from tests.unit.tools import shop
    from tests.unit.tools.test_routes import MANY, ORDERS, large_agent

    print(f"{'seconds':28}{MANY // 2:>8}{MANY:>8} tools")
    for order in ORDERS:
        agents = [large_agent(count, order) for count in (MANY // 2, MANY)]
        half, whole = (_best(lambda agent=agent: shop.findings(agent)) for agent in agents)  # type: ignore[misc]
        print(f"{order:28}{half:8.2f}{whole:8.2f}")


def _best(act: Callable[[], object]) -> float:
    return min(_seconds(act) for _ in range(ROUNDS))


def _seconds(act: Callable[[], object]) -> float:
    began = time.process_time()
    act()
    return time.process_time() - began


if __name__ == "__main__":
    main()
