"""Turns, one table for each language that ships, and every turn of one language has its twin in the others.

READ       what is said -> the turn, and what it asks for
REFUSED    what is wrong -> the turn, and the parts that are named
AMBIGUOUS  what can be meant -> the turn, and its readings
MONEY      how an amount is said -> the agent's currency, the amount as said, and what it is (None: it is not read)
JOINTS     what may join two requests
PIECES     what garbage is made of
GARBAGE    requests that no phrase reads
CLAUSES    templates of requests that are read, over order, amount, grouped amount, charged and words
"""

from types import ModuleType

from tests.unit.selector.languages import en, pt

TABLES: dict[str, ModuleType] = {"en": en, "pt": pt}
