"""The `stalwart` command: Django's commands, with ours among them."""

import os
import sys


def main() -> None:
    """Run `stalwart <command> …`. Exit codes: 0 done, 1 an error (one line on stderr), 2 usage."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "stalwart_site.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
