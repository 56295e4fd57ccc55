"""The explorer: stop a process around one refund, resume it, and see what the customer gets.

`cases.py` carries a case out, `sandbox.py` is the world that it happens in, `views.py` is the page.
"""
