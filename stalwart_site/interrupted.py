"""The process that is made to die (interrupting.py): `python -m stalwart_site.interrupted RUN WHO ANSWER`."""

import json
import os
import sys


def main() -> None:
    """Carry a run out, up to the armed fault point."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "stalwart_site.settings")
    import django

    django.setup()
    from runs.access import Actor
    from stalwart_site.interrupting import carry_out

    run_id, who, said = int(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
    carry_out(run_id, Actor(**who | {"roles": frozenset(who["roles"])}), said)


if __name__ == "__main__":
    main()
