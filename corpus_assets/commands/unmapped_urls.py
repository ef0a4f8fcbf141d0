"""Whether records hold a web address in a field that the ledger row does not map: then no site list can meet them."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from formats import compressed, ledger_urls
from formats.errors import CorruptDataError
from formats.layout import Layout
from formats.ledger import LedgerRow
from formats.numbered_lines import numbered_lines

_FIRST, _MAX_BYTES = 20, 1 << 24
_NAME = re.compile(r"(?:^|[._-])(?:ur[il]|link|href)$|ur[il]$", re.IGNORECASE)
_PAGE = re.compile(r"(?i:https?)://[^\s]")


def unmapped_url(layout: Layout, row: LedgerRow) -> str | None:
    """The name, as `--url-field` takes it, of a field of the first records that is called like a URL and holds web
    addresses; None where there is none, or the row maps one. Never an error: what is wrong with a file a build says.
    """
    if row.kind not in ("jsonl", "parquet") or row.container or row.fields.url is not None:
        return None
    for file in row.files:
        local = ledger_urls.resolve_local(layout.ledger, file.url)
        path = layout.cache / file.sha256 if local is None else local
        with suppress(CorruptDataError, OSError, ValueError, RecursionError):
            records = list((_parquet if row.kind == "parquet" else _jsonl)(path))
            for name in dict.fromkeys(name for record in records for name, _ in _texts(record)):
                values = [value for record in records for at, value in _texts(record) if at == name]
                if _NAME.search(name) and all(_PAGE.match(value) for value in values):
                    return name
            if records:
                return None
    return None


def _jsonl(path: Path) -> Iterator[Any]:
    with compressed.open_file(path) as stream:
        for _, line in islice(numbered_lines(stream, _MAX_BYTES), _FIRST):
            if line is not None and line.strip():
                yield json.loads(line.decode("utf-8-sig"))


def _parquet(path: Path) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with suppress(pa.ArrowException), pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=_FIRST):
            yield from batch.to_pylist()
            return


def _texts(value: Any, path: str = "", depth: int = 3) -> Iterator[tuple[str, str]]:
    """(name, text) of every text of a record, `meta.url` inside objects."""
    if not isinstance(value, Mapping) or not depth:
        return
    for name, inner in value.items():
        if isinstance(inner, str):
            yield f"{path}{name}", inner
        else:
            yield from _texts(inner, f"{path}{name}.", depth - 1)
