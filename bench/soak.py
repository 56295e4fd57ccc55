"""`python -m bench.soak`: two thousand runs under random kills and faults, on a PostgreSQL of their own.

At the end the services' own books must equal the ledger, entry by entry. Exit codes: 0 they do, 1 they do not.

    python -m bench.soak --runs 2000 --seed 4711
"""

import argparse
import os
import random
import sys
import time

from tests import early  # before Django's settings: it says where the database is


def main() -> int:
    """Start everything, soak it, print what came of it."""
    arguments = _arguments()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "stalwart_site.settings")
    import django

    django.setup()
    from stalwart_site.embedded_postgres import EmbeddedPostgres

    print(f"seed {arguments.seed}", flush=True)
    try:
        with EmbeddedPostgres(early.POSTGRES_FOLDER):
            return _soak(arguments.runs, arguments.seed, arguments.alive)
    finally:
        early.pytest_unconfigure()


def _soak(runs: int, seed: int, alive: int) -> int:
    import httpx
    from django.conf import settings
    from django.core.management import call_command

    from examples.services.process import running
    from tests.crash.load import Load
    from tests.crash.site import Site
    from tests.crash.soak import Soak
    from tests.crash.times import ALL_AGENTS, SITE
    from tests.processes import Processes

    settings.AGENT_FILES = ALL_AGENTS
    call_command("migrate", verbosity=0, interactive=False)
    with running(early.HOME / "books.sqlite3") as services:
        processes = Processes(services.url, early.HOME)
        load = Load(httpx.Client(base_url=services.url, timeout=10))
        soak, started = Soak(Site(processes, SITE), load, seed, alive), time.monotonic()
        try:
            soak.run(lambda count: _more(count, runs, started), patience=300)
        except AssertionError as error:
            print(f"the books do not equal the ledger: {error}", file=sys.stderr)
            return 1
        finally:
            print(f"{soak.report()}; {time.monotonic() - started:.0f} s")
            processes.end_all()
    return 0


def _more(count: int, runs: int, started: float) -> bool:
    if count % 100 == 0 and sys.stderr.isatty():
        print(f"\r{count} runs, {time.monotonic() - started:.0f} s", end="", file=sys.stderr)
    return count < runs


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000, help="how many (default: %(default)s)")
    parser.add_argument("--alive", type=int, default=16, help="at a time (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="default: a random one")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
