"""The shop's products and orders that every practice run starts from."""

from __future__ import annotations

import sqlite3

# sku: name, kind, warehouse, in stock
PRODUCTS = {
    "BENCH-2": ("oak bench", "bench", "LDS-2", 12),
    "LANTERN-6": ("garden lantern", "lantern", "LDS-2", 30),
    "CAN-5": ("watering can", "can", "YYZ-1", 80),
    "TROWEL-9": ("steel trowel", "trowel", "YYZ-1", 60),
    "LADDER-3": ("step ladder", "ladder", "YYZ-1", 9),
    "HOSE-8": ("garden hose", "hose", "YYZ-1", 0),
}
# order: customer, e-mail, seller, currency, sku, delivery fee and payments in cents, pickup, note
ORDERS = {
    "SU-90317": (
        ("Priya Raman", "priya.raman@example.com", "Ashcombe Furniture", "USD", "BENCH-2"),
        (14_95, {"PM-70311": 249_95}),
        ("Fri 20 Mar", "Arrived with a split slat. The expedited delivery fee was charged by mistake."),
    ),
    "SU-90322": (
        ("Daniel Osei", "daniel.osei@example.com", "Ashcombe Furniture", "USD", "BENCH-2"),
        (0, {"PM-70316": 235_00}),
        ("Mon 23 Mar", "A leg was cracked in its box."),
    ),
    "LK-612408": (
        ("Claire Gagnon", "claire.gagnon@example.com", "Larkspur Home", "CAD", "LANTERN-6"),
        (0, {"PM-61240": 38_50}),
        ("Tue 24 Mar", "The glass was broken on arrival; a photograph is in the ticket."),
    ),
    "LK-793996": (
        ("Marc Tremblay", "marc.tremblay@example.com", "Larkspur Home", "CAD", "CAN-5"),
        (9_95, {"PM-79399": 43_95}),
        ("Wed 25 Mar", "Delivered 12 business days late."),
    ),
    "LK-704417": (
        ("Hannah Wolfe", "hannah.wolfe@example.com", "Larkspur Home", "CAD", "TROWEL-9"),
        (0, {"PM-70441": 45_95, "PM-70442": 45_95}),
        ("Wed 25 Mar", "The card was charged twice, four seconds apart."),
    ),
    "LK-645334": (
        ("Owen Clarke", "owen.clarke@example.com", "Larkspur Home", "CAD", "LADDER-3"),
        (0, {"PM-64533": 129_00}),
        ("Thu 26 Mar", "Delivered six days ago, unopened."),
    ),
    "LK-688120": (
        ("Amina Yusuf", "amina.yusuf@example.com", "Larkspur Home", "CAD", "HOSE-8"),
        (0, {"PM-68812": 62_00}),
        ("Thu 26 Mar", "The carrier says that the parcel is lost."),
    ),
}
SELLERS = {
    "Ashcombe Furniture": "orders@ashcombe.example.com",
    "Larkspur Home": "care@larkspur.example.com",
}


def plant(db: sqlite3.Connection) -> None:
    """Insert products and orders into empty tables, inside the caller's transaction."""
    db.executemany(
        "INSERT INTO products VALUES (?, ?, ?, ?, ?)", [(sku, *row) for sku, row in PRODUCTS.items()]
    )
    for order, ((customer, email, seller, currency, sku), (fee, payments), (pickup, note)) in ORDERS.items():
        row = (order, customer, email, seller, SELLERS[seller], currency, sku, fee, pickup, note)
        paid = sum(payments.values())
        db.execute("INSERT INTO shop_orders VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)", (*row, paid))
        rows = [(payment, order, amount) for payment, amount in payments.items()]
        db.executemany("INSERT INTO order_payments (id, order_id, amount) VALUES (?, ?, ?)", rows)
