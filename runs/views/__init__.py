"""The console's pages of runs and conversations. Every view names its rule of runs/access.py (rules.py)."""
