"""The floor: what any ledger that writes ahead must do, by hand and with nothing else around it.

One row holds the intent (key, tool, arguments) and later the outcome. psycopg prepares both statements.
"""

import psycopg
from psycopg.types.json import Jsonb

from bench.stopwatch import Watch

TABLE = """
CREATE TABLE floor_ledger (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL UNIQUE, tool text NOT NULL,
    args jsonb NOT NULL, fingerprint text NOT NULL, state text NOT NULL, result jsonb,
    sent_at timestamptz NOT NULL DEFAULT clock_timestamp(), settled_at timestamptz)
"""
INTENT = """
INSERT INTO floor_ledger (key, tool, args, fingerprint, state) VALUES (%s, %s, %s, %s, 'intended') RETURNING id
"""
OUTCOME = (
    "UPDATE floor_ledger SET state = 'performed', result = %s, settled_at = clock_timestamp() WHERE id = %s"
)


class Floor:
    """A ledger by hand."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True)
        self.connection.execute(TABLE)
        self._written = 0

    def two_commits(self, writes: int, watch: Watch) -> None:
        """Intent; commit; outcome; commit."""
        with watch.running():
            for _ in range(writes):
                self._settle(self._intend())

    def one_commit(self, writes: int, watch: Watch) -> None:
        """The outcome of the last and the intent of the next; commit."""
        with watch.running():
            last = self._intend()
            for _ in range(writes - 1):
                with self.connection.transaction():
                    self._settle(last)
                    last = self._intend()
            self._settle(last)

    def _intend(self) -> int:
        self._written += 1
        values = [f"{self._written:064x}", "put", Jsonb({"n": self._written}), "f" * 64]
        [(found,)] = self.connection.execute(INTENT, values).fetchall()
        return int(found)

    def _settle(self, row: int) -> None:
        self.connection.execute(OUTCOME, [Jsonb({"n": row}), row])

    def close(self) -> None:
        """Let the connection go."""
        self.connection.close()
