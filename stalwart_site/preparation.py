"""What must be done once before the processes start: tables, static files, demo data.

Each part finds out first whether there is anything to do: a second start does almost nothing here.
"""

import hashlib
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from runs.demo import make_logins


def migrate_if_needed() -> None:
    """Apply what is missing; when nothing is, one query."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", verbosity=0, interactive=False)
    connection.close()


def add_demo_data() -> None:
    """Add the demo people; what is there already stays as it is."""
    make_logins()
    connection.close()


def collect_static_if_needed() -> None:
    """Collect, hash and compress the static files unless they are as they were the last time."""
    mark = Path(settings.STATIC_ROOT) / ".sources"
    sources = _fingerprint_of_sources()
    if mark.is_file() and mark.read_text() == sources:
        return
    call_command("collectstatic", verbosity=0, interactive=False)
    mark.write_text(sources)


def _fingerprint_of_sources() -> str:
    """A digest over the path, size and time of every static file of every app."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for path, storage in finder.list([]):
            status = Path(storage.path(path)).stat()
            digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()
