"""The practice services: payments, CRM, provisioning, mail, shop, returns, each with a register of keys.

One process of its own over HTTP, with its own database, so that what the product believes and what
really took place are two different records. Start it with `python -m examples.services`; from Python,
`examples.services.process.running` starts it and ends it. The books' own journal is `GET /changes`.

A reader starts at `register.py`: the effect and its key are one transaction.
"""
