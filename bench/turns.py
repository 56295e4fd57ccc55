"""How many turns one processor reads in a second.

    python -m bench.turns

The turns are those of the corpus that the tests read, those that are refused among them. Needs the environment of
development. Not a test: nothing fails for being slow.
"""

import time

from runs.selector import Unread
from tests.unit.selector.test_corpus import ALL

ROUNDS = 5  # the best counts: others may use the machine


def main() -> None:
    """One line."""
    print(f"{max(_a_second() for _ in range(ROUNDS)):,.0f} turns a second, the corpus of {len(ALL)}")


def _a_second() -> float:
    began = time.process_time()
    for desk, turn, _ in ALL:
        try:
            desk.read(turn)
        except Unread:
            pass
    return len(ALL) / (time.process_time() - began)


if __name__ == "__main__":
    main()
