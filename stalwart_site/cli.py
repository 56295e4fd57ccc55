"""The `stalwart` command: Django's commands, with ours among them."""

import gc
import os
import sys

import django
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line


def main() -> None:
    """Run `stalwart <command> …`. Exit codes: 0 done, 1 an error (one line on stderr), 2 usage."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "stalwart_site.settings")
    gc.disable()  # what is imported is no garbage, and looking for some takes a sixth of the start
    try:
        django.setup()
    except ImproperlyConfigured as error:
        sys.exit(str(error))
    gc.enable()
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
