"""The REST API under /api/v1: thin endpoints above runs/services/ (docs/api.md)."""
