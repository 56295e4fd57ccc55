"""A pytest plugin that is loaded before Django's settings are: it says where the tests' database is.

Without DATABASE_URL the tests get a PostgreSQL of their own, in a folder of their own; its address follows
from the folder, so it is known before the server runs. The server starts with the first test that needs it
(`postgres` in conftest.py). Nothing of the developer's own `.stalwart` is read or written, and no setting of
the developer's shell changes what is tested.
"""

import os
import shutil
import tempfile
from pathlib import Path

from stalwart_site.embedded_postgres import url_of

HOME = Path(tempfile.mkdtemp(prefix="stalwart-tests-"))
HOME.chmod(0o711)  # as root the server runs as another account, which must be able to pass
(HOME / "static").mkdir()  # where the pages' files would be collected; whitenoise looks for it
POSTGRES_FOLDER = HOME / "postgres"
# A process of pytest-xdist inherits what this module set in the one that started it: it gets its own.
EMBEDDED = not os.environ.get("DATABASE_URL") or "TESTS_EMBEDDED" in os.environ

for name in [name for name in os.environ if name.startswith("STALWART_")]:
    del os.environ[name]
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what the tests start is compiled once, as on any machine
os.environ["STALWART_HOME"] = str(HOME)
os.environ["STALWART_FAULTS"] = "1"
if EMBEDDED:
    os.environ["TESTS_EMBEDDED"] = "1"
    os.environ["DATABASE_URL"] = url_of(POSTGRES_FOLDER)


def pytest_unconfigure() -> None:
    """Also after a failure or Ctrl-C."""
    shutil.rmtree(HOME, ignore_errors=True)
