"""`python -m examples.services --port 8701 --database PATH` runs the practice services."""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
from pathlib import Path

from examples.services.books import Books
from examples.services.server import HOST, listen, serve


def main() -> int:
    """Serve until SIGTERM or SIGINT: 0. A port that is taken or a database that will not open: 1."""
    arguments = _arguments()
    try:
        Books(arguments.database).close()  # no connection is open across the fork
    except (OSError, sqlite3.Error) as error:
        return _fail(f"The database {arguments.database} cannot be opened: {error}")
    try:
        listener = listen(arguments.port)
    except (OSError, OverflowError) as error:
        return _fail(f"Port {arguments.port} on {HOST} cannot be used: {error}. Choose another with --port.")
    serve(listener, arguments.database)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.services", description="The practice services.")
    parser.add_argument("--port", type=int, default=8701, help="port on 127.0.0.1 (default: %(default)s)")
    database = os.environ.get("STALWART_SERVICES_DB")
    parser.add_argument(
        "--database",
        type=Path,
        default=Path(database) if database else None,
        required=not database,
        help="SQLite file; default: STALWART_SERVICES_DB",
    )
    return parser.parse_args()


def _fail(line: str) -> int:
    print(line, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
