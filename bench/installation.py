"""Django on a fresh database, as it is installed: what is measured is what is served."""

import contextlib
import os
import tempfile
from collections.abc import Iterator

import django


@contextlib.contextmanager
def installed(url: str, *agents: str, **environment: str) -> Iterator[None]:
    """With these agent files, in a state folder of its own; none of the shell's settings counts. Once in a process."""
    with tempfile.TemporaryDirectory(prefix="stalwart-bench-") as home:
        for name in [name for name in os.environ if name.startswith("STALWART_")]:
            del os.environ[name]
        os.environ |= {
            "DATABASE_URL": url,
            "DJANGO_SETTINGS_MODULE": "stalwart_site.settings",
            "STALWART_HOME": home,
            "STALWART_AGENTS": ",".join(agents),
            **environment,
        }
        django.setup()
        from django.core.management import call_command
        from django.db import connections

        call_command("migrate", verbosity=0)
        yield
        connections.close_all()
