"""Where Dagster's migration scripts lie, named as a folder. Dagster names them as a resource of its package, and
alembic then keeps a clean-up until the process ends, each time a storage is opened: three a sensor's tick, which is
some 100 MB a day of a code server that does nothing else.
"""

from pathlib import Path

import dagster
from dagster._core.storage import sql

NAMED_AS_RESOURCE = "dagster:_core/storage/alembic"


def name_as_folder() -> None:
    """In this process, from now on. Another Dagster that names them otherwise is left as it is."""
    folder = Path(dagster.__file__).parent / "_core" / "storage" / "alembic"
    if getattr(sql, "ALEMBIC_SCRIPTS_LOCATION", None) == NAMED_AS_RESOURCE and folder.is_dir():
        sql.ALEMBIC_SCRIPTS_LOCATION = str(folder)
        sql.get_alembic_config.cache_clear()
