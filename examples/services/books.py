"""The books: schema, connections and transactions of the services' own SQLite database."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from examples.services import seed, shop_seed

# Amounts are whole cents. What may still be charged is derived (total - paid + refunded), so it cannot drift.
SCHEMA = """
CREATE TABLE IF NOT EXISTS orders (
    id INTEGER PRIMARY KEY, customer TEXT NOT NULL, email TEXT NOT NULL, total INTEGER NOT NULL,
    paid INTEGER NOT NULL DEFAULT 0, refunded INTEGER NOT NULL DEFAULT 0,
    CHECK (refunded BETWEEN 0 AND paid), CHECK (paid - refunded <= total));
CREATE TABLE IF NOT EXISTS charges (
    id TEXT PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders,
    amount INTEGER NOT NULL CHECK (amount > 0),
    refunded INTEGER NOT NULL DEFAULT 0 CHECK (refunded BETWEEN 0 AND amount), at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS charges_of_an_order ON charges (order_id);
CREATE TABLE IF NOT EXISTS refunds (
    id TEXT PRIMARY KEY, charge TEXT NOT NULL REFERENCES charges, amount INTEGER NOT NULL CHECK (amount > 0),
    at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS crm_orders (
    order_id INTEGER PRIMARY KEY REFERENCES orders, status TEXT NOT NULL, note TEXT NOT NULL,
    updates INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS accounts (
    id TEXT PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders, at TEXT NOT NULL, closed_at TEXT);
CREATE UNIQUE INDEX IF NOT EXISTS one_open_account_per_order ON accounts (order_id) WHERE closed_at IS NULL;
CREATE TABLE IF NOT EXISTS messages (
    id TEXT PRIMARY KEY, recipient TEXT NOT NULL, subject TEXT NOT NULL, body TEXT NOT NULL,
    at TEXT NOT NULL);

-- The shop: orders with text ids. `paid` is the sum of an order's payments.
CREATE TABLE IF NOT EXISTS products (
    sku TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, warehouse TEXT NOT NULL,
    stock INTEGER NOT NULL CHECK (stock >= 0));
CREATE TABLE IF NOT EXISTS shop_orders (
    id TEXT PRIMARY KEY, customer TEXT NOT NULL, email TEXT NOT NULL, seller TEXT NOT NULL,
    seller_email TEXT NOT NULL, currency TEXT NOT NULL, sku TEXT NOT NULL REFERENCES products,
    delivery_fee INTEGER NOT NULL, pickup TEXT NOT NULL, note TEXT NOT NULL,
    paid INTEGER NOT NULL, refunded INTEGER NOT NULL DEFAULT 0, CHECK (refunded BETWEEN 0 AND paid));
CREATE TABLE IF NOT EXISTS order_payments (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL REFERENCES shop_orders, amount INTEGER NOT NULL,
    refunded INTEGER NOT NULL DEFAULT 0, CHECK (refunded BETWEEN 0 AND amount));
CREATE TABLE IF NOT EXISTS order_refunds (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL REFERENCES shop_orders,
    payment TEXT REFERENCES order_payments, amount INTEGER NOT NULL CHECK (amount > 0),
    reason_code TEXT NOT NULL, at TEXT NOT NULL, reversed_at TEXT);
CREATE TABLE IF NOT EXISTS return_labels (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL REFERENCES shop_orders, sku TEXT NOT NULL,
    reason TEXT NOT NULL, pickup TEXT, status TEXT NOT NULL, at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS reservations (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL REFERENCES shop_orders,
    sku TEXT NOT NULL REFERENCES products, quantity INTEGER NOT NULL CHECK (quantity > 0),
    at TEXT NOT NULL, released_at TEXT);
CREATE TABLE IF NOT EXISTS reships (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL REFERENCES shop_orders,
    sku TEXT NOT NULL REFERENCES products, at TEXT NOT NULL);

-- The register of keys: what was asked under each, and what the first request was answered.
CREATE TABLE IF NOT EXISTS operations (
    key TEXT PRIMARY KEY, operation TEXT NOT NULL, path TEXT NOT NULL, body TEXT NOT NULL,
    status INTEGER NOT NULL, result TEXT NOT NULL, at TEXT NOT NULL);
-- The journal: one row per effect, and no effect without its row in the register.
CREATE TABLE IF NOT EXISTS changes (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, service TEXT NOT NULL, operation TEXT NOT NULL,
    subject TEXT NOT NULL, detail TEXT NOT NULL, key TEXT NOT NULL UNIQUE REFERENCES operations, run TEXT);
CREATE INDEX IF NOT EXISTS changes_of_a_run ON changes (run);
-- The faults that strike once per key, and have.
CREATE TABLE IF NOT EXISTS faults_met (key TEXT NOT NULL, fault TEXT NOT NULL, PRIMARY KEY (key, fault));
"""
# In an order in which they can be emptied.
TABLES = ["changes", "operations", "faults_met", "messages", "accounts", "crm_orders"]
TABLES += ["refunds", "charges", "orders"]
TABLES += ["return_labels", "reships", "reservations", "order_refunds", "order_payments"]
TABLES += ["shop_orders", "products"]


class Books:
    """The database at `path`, created and seeded when it is new.

    One connection per thread. The lock queues this process's writers in turn, which is fairer and faster
    than SQLite's polling; `BEGIN IMMEDIATE` and the busy timeout hold against any other process.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.resets = 0
        self._turn = threading.Lock()
        self._of_thread = threading.local()
        path.parent.mkdir(parents=True, exist_ok=True)
        # executescript commits what is open, so the schema stands outside the seed's transaction.
        self.reading().executescript(SCHEMA)
        with self.writing() as db:
            if not count(db, "orders"):
                seed.plant(db)
            if not count(db, "shop_orders"):
                shop_seed.plant(db)

    def reading(self) -> sqlite3.Connection:
        """This thread's connection; each statement sees what is committed."""
        connection: sqlite3.Connection | None = getattr(self._of_thread, "connection", None)
        if connection is None:
            connection = self._of_thread.connection = _connect(self.path)
        return connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is committed, or nothing on any error. Never sleep or wait inside."""
        db = self.reading()
        with self._turn:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:  # SQLite ends it by itself on a full disk
                    db.execute("ROLLBACK")
                raise

    def reset(self) -> None:
        """Empty every table and plant the seed data again; calls still on the wire are cut off."""
        with self.writing() as db:
            for table in TABLES:
                db.execute(f"DELETE FROM {table}")
            seed.plant(db)
            shop_seed.plant(db)
            self.resets += 1

    def close(self) -> None:
        """Close this thread's connection."""
        self.reading().close()
        del self._of_thread.connection


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=10, isolation_level=None)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA journal_mode = WAL")
    # In WAL mode NORMAL hands each commit to the operating system before it is answered, so a kill -9 of
    # this process loses nothing that was committed; only a power cut can lose the last commits.
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA foreign_keys = ON")
    return db


def count(db: sqlite3.Connection, table: str) -> int:
    """How many rows a table has. Rows go only at a reset, so inside a transaction it numbers the next one."""
    return int(db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])


def now() -> str:
    """The time of an effect: UTC, ISO 8601 with microseconds."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
