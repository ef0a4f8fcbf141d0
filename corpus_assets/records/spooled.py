"""Members of archives that hold many records and are read by their own readers, which need a file: they are copied to
one without a name of theirs, in the system's folder for temporary files (TMPDIR), and deleted when they are read.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from formats.compressed import CHUNK_BYTES, Readable
from formats.durable import naming
from formats.errors import CorruptDataError


@contextmanager
def spooled(stream: Readable, label: str) -> Iterator[Path]:
    """Where the stream's bytes lie meanwhile. An error that names this place names the member, `label`, instead."""
    file = NamedTemporaryFile(prefix="corpus-member-")  # noqa: SIM115  closed in the next line's block
    with naming(Path(file.name)), file:  # closing it writes, too
        while chunk := stream.read(CHUNK_BYTES):
            file.write(chunk)
        file.flush()
        try:
            yield Path(file.name)
        except CorruptDataError as error:
            if error.path != file.name:
                raise
            raise type(error)(label, error.field, error.expected, error.found, error.todo) from None
