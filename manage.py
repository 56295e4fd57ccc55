#!/usr/bin/env python
"""Django's own entry point; `stalwart X` is `python manage.py X`."""

from stalwart_site.cli import main

if __name__ == "__main__":
    main()
