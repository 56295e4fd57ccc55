"""The orders that every practice run starts from."""

from __future__ import annotations

import sqlite3

# order: customer, email, total in cents, status in the CRM, note in the CRM
NAMED = {
    4390: ("Ravi Patel", "ravi.patel@example.com", 180_00, "shipped", "Asked twice for a paper invoice."),
    4402: ("Elena Rossi", "elena.rossi@example.com", 95_50, "delivered", "Returns go to the Milan office."),
    4411: ("Mia Olsen", "mia.olsen@example.com", 400_00, "new", "Prefers e-mail to the telephone."),
    4412: ("Jonas Weber", "jonas.weber@example.com", 260_00, "new", ""),
    4413: ("Sofia Almeida", "sofia.almeida@example.com", 72_90, "new", "Writes in Portuguese."),
    4414: ("Liam Byrne", "liam.byrne@example.com", 1_240_00, "on hold", "Address to be confirmed."),
    4415: ("Aiko Tanaka", "aiko.tanaka@example.com", 310_00, "new", ""),
    4416: ("Noah Dubois", "noah.dubois@example.com", 55_00, "new", "First order."),
    4417: ("Zofia Nowak", "zofia.nowak@example.com", 880_00, "new", ""),
    4418: ("Omar Haddad", "omar.haddad@example.com", 149_99, "shipped", ""),
    4419: ("Ines Moreau", "ines.moreau@example.com", 620_00, "new", "Business customer."),
}
LOAD = range(5000, 5200)
LOAD_TOTAL = 10_000_00


def plant(db: sqlite3.Connection) -> None:
    """Insert the seed orders into empty tables, inside the caller's transaction."""
    rows = [(order, *facts) for order, facts in NAMED.items()]
    rows += [(order, f"Load {order}", f"load-{order}@example.com", LOAD_TOTAL, "new", "") for order in LOAD]
    orders = [row[:4] for row in rows]
    in_crm = [(row[0], row[4], row[5]) for row in rows]
    db.executemany("INSERT INTO orders (id, customer, email, total) VALUES (?, ?, ?, ?)", orders)
    db.executemany("INSERT INTO crm_orders (order_id, status, note) VALUES (?, ?, ?)", in_crm)
