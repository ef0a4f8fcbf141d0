"""Evidence tables and corpus shards held to the values their columns may have, with pandera's pyarrow backend.

Types come from the pinned Arrow schemas, compared exactly first: pandera cannot tell string from large_string and knows
no fixed_size_binary. The depth of validation is set here, because pandera's environment variables can turn value
checks off without a word.
"""

from collections.abc import Callable, Sequence
from functools import reduce

import pandera.pyarrow as pap
import pyarrow as pa
import pyarrow.compute as pc
from pandera.config import ValidationDepth, config_context
from pandera.errors import SchemaError

from formats import corpus_shard, evidence_schemas
from formats.errors import ConfigError, SchemaMismatchError
from formats.judged_pages import EXTRACTORS
from formats.languages import LANGUAGES
from formats.reasons import RULE_BY_REASON, SITE_FILTERS, Reason
from formats.stage_tables import COUNTED_SIGNALS, PII_KINDS

_TODO = "the stage that wrote it is at fault; delete its output and materialize it again"
_MILLION, _THOUSAND = 1_000_000, 1_000
_ROW_ID = r"^[a-z0-9][a-z0-9_-]*:(0|[1-9][0-9]*)$"
VERDICTS = tuple(dict.fromkeys([*(reason.value for reason in Reason), *RULE_BY_REASON]))


def _count() -> pap.Check:
    return pap.Check.ge(0)


def _row_id() -> pap.Check:
    return pap.Check.str_matches(_ROW_ID)


def _not_empty() -> pap.Check:
    return pap.Check.str_length(min_value=1)


def _split() -> pap.Check:
    return pap.Check.isin(corpus_shard.SPLITS)


def _rows(name: str, holds: Callable[[pa.Table], pa.Array | pa.ChunkedArray]) -> pap.Check:
    """A check of what one column says about another: `holds` gives true or false, never null, for each row."""
    return pap.Check(lambda data: holds(data.table), name=name, error=name, ignore_na=False)


def _together(
    name: str, columns: Sequence[str], when: Callable[[pa.Table], pa.ChunkedArray] | None = None
) -> pap.Check:
    """The columns are null in the same rows: where `when` is false, or else where the first one is."""

    def holds(table: pa.Table) -> pa.ChunkedArray:
        given = when(table) if when else pc.is_valid(table[columns[0]])
        return reduce(pc.and_, (pc.equal(given, pc.is_valid(table[column])) for column in columns))

    return _rows(name, holds)


def _is(*verdicts: Reason) -> Callable[[pa.Table], pa.ChunkedArray]:
    return lambda table: pc.is_in(table["verdict"], pa.array([v.value for v in verdicts], pa.large_string()))


def _opted_out(table: pa.Table) -> pa.ChunkedArray:
    return pc.equal(table["reason"], pa.scalar(Reason.OPT_OUT.value, pa.large_string()))


def _implies(first: pa.ChunkedArray, then: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.or_(pc.invert(first), then)


def _or_null(holds: pa.ChunkedArray) -> pa.ChunkedArray:
    """Nothing is said where a column is null."""
    return pc.fill_null(holds, True)


_NAMES_KEEPER = (Reason.EXACT_DUPLICATE, Reason.NEAR_DUPLICATE, Reason.TRAIN_NEAR_VAL)

_VALUES: dict[str, dict[str, list[pap.Check]]] = {
    "documents": {
        "id": [_row_id()],
        "doc_id": [pap.Check.str_matches(r"^[0-9a-f]{32}$")],
        "source_id": [_not_empty()],
        "url": [_not_empty()],
        **{name: [_count()] for name in ("raw_part", "raw_line", "n_chars", "n_words", "rules_failed")},
        **{name: [_count()] for name in ("rules_not_applied", *COUNTED_SIGNALS)},
        "lang": [_not_empty()],
        "lang_score": [pap.Check.in_range(0, _THOUSAND)],
        "verdict": [pap.Check.isin(VERDICTS)],
        "cluster": [_row_id()],
        "keeper_id": [_row_id()],
        "keeper_raw_part": [_count()],
        "keeper_jaccard": [pap.Check.in_range(0, _MILLION)],
        "span_start": [_count()],
        "span_end": [_count()],
        **{f"pii_{kind}": [_count()] for kind in PII_KINDS},
        "split": [_split()],
        "shard": [_count()],
        "row": [_count()],
    },
    "files": {
        "source_id": [_not_empty()],
        "url": [_not_empty()],
        **{name: [_count()] for name in evidence_schemas.FILES.names if name not in ("source_id", "url", "sha256")},
    },
    "clusters": {
        "root": [_row_id()],
        "size": [pap.Check.ge(2)],
        "keepers": [pap.Check.ge(1)],
        "largest_distance": [pap.Check.in_range(0, _MILLION)],
    },
    "lineage": {
        "shard": [_count()],
        "source_id": [_not_empty()],
        "license_spdx": [_not_empty()],
        "rows": [pap.Check.ge(1)],
    },
    "extraction": {
        "id": [_row_id()],
        "expected_error": [pap.Check.in_range(0, _THOUSAND)],
        "extractor": [pap.Check.isin(list(EXTRACTORS))],
    },
    "near_items": {
        "id": [_row_id()],
        "eval_set": [_not_empty()],
        "eval_item": [_not_empty()],
        "shared_ngrams": [pap.Check.ge(1)],
        "item_ngrams": [pap.Check.ge(1)],
        "share": [pap.Check.in_range(0, _MILLION)],
        "span_start": [_count()],
        "span_end": [_count()],
    },
    "mixed_languages": {
        "id": [_row_id()],
        **{name: [pap.Check.isin(LANGUAGES)] for name in ("certain", "likely")},
        **{name: [pap.Check.in_range(1, _THOUSAND)] for name in ("certain_share", "likely_share")},
    },
    "capped_documents": {"id": [_row_id()], "domain": [_not_empty()], "place": [_count()]},
    "listed_words": {
        "id": [_row_id()],
        "list": [_not_empty()],
        "listed_words": [pap.Check.ge(1)],
        "n_words": [pap.Check.ge(1)],
        "listed_word_ratio": [pap.Check.in_range(0, _MILLION)],
    },
    "listed_sites": {
        "id": [_row_id()],
        "reason": [pap.Check.isin(tuple(SITE_FILTERS))],
        "list": [_not_empty()],
        "line": [pap.Check.ge(1)],
        "what": [_not_empty()],
    },
    "corpus_shard": {
        "id": [_row_id()],
        "url": [_not_empty()],
        "license_spdx": [_not_empty()],
        "lang": [pap.Check.str_matches(r"^[a-z]{2,3}$")],
        "n_chars": [_count()],
        "minhash_cluster": [_count()],
        "pii_redactions": [_count()],
        "split": [_split()],
    },
}

_BETWEEN_COLUMNS: dict[str, list[pap.Check]] = {
    "mixed_languages": [_rows("two languages are two", lambda t: pc.not_equal(t["certain"], t["likely"]))],
    "documents": [
        _together("a kept row, and no other, has shard and row", ("shard", "row"), _is(Reason.KEPT)),
        _rows("a kept row has a split", lambda t: _implies(_is(Reason.KEPT)(t), pc.is_valid(t["split"]))),
        _together("only a contaminated row names set and item", ("eval_set", "eval_item"), _is(Reason.CONTAMINATED)),
        _together("a span has both ends", ("span_start", "span_end")),
        _rows("a span has no end before its start", lambda t: _or_null(pc.less_equal(t["span_start"], t["span_end"]))),
        _together("only a row dropped for another names its keeper", ("keeper_id",), _is(*_NAMES_KEEPER)),
        _rows("a row is not its own keeper", lambda t: _or_null(pc.not_equal(t["id"], t["keeper_id"]))),
        _rows("an id begins with its source", lambda t: pc.equal(t["source_id"], _source_of(t["id"]))),
    ],
    "files": [
        _rows("records = documents + rejects", lambda t: pc.equal(t["records"], pc.add(t["documents"], t["rejects"]))),
        _rows("unique documents are at most all", lambda t: pc.less_equal(t["unique_documents"], t["documents"])),
        _rows(
            "near duplicates are at most the unique documents",
            lambda t: pc.less_equal(t["near_duplicates"], t["unique_documents"]),
        ),
    ],
    "near_items": [
        _rows(
            "an item's n-grams are at least the shared ones",
            lambda t: pc.less_equal(t["shared_ngrams"], t["item_ngrams"]),
        ),
        _rows("a span has no end before its start", lambda t: pc.less(t["span_start"], t["span_end"])),
        _rows(
            "share = shared n-grams of the item's",
            lambda t: pc.equal(t["share"], pc.divide(pc.multiply(t["shared_ngrams"], _MILLION), t["item_ngrams"])),
        ),
    ],
    "listed_sites": [
        _together("an opt-out, and no other, has since and why", ("since", "why"), _opted_out),
    ],
    "listed_words": [
        _rows("listed words are at most all", lambda t: pc.less_equal(t["listed_words"], t["n_words"])),
    ],
    "clusters": [_rows("keepers are at most the size", lambda t: pc.less_equal(t["keepers"], t["size"]))],
    "corpus_shard": [_rows("an id begins with its source", lambda t: pc.equal(t["source_id"], _source_of(t["id"])))],
}


_BY_MODELS = "documents_by_models"
_VALUES[_BY_MODELS] = _VALUES["documents"] | {"quality": [pap.Check.in_range(0, _THOUSAND)], "ppl": [_count()]}
_WITH_SAFETY = "documents_with_safety"
_VALUES[_WITH_SAFETY] = _VALUES[_BY_MODELS] | {"safety": [pap.Check.in_range(0, _THOUSAND)]}
_BETWEEN_COLUMNS[_BY_MODELS] = _BETWEEN_COLUMNS[_WITH_SAFETY] = _BETWEEN_COLUMNS["documents"]
"""Documents of a version whose config has models, told by their columns."""


def _source_of(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.replace_substring_regex(ids, r":[0-9]+$", "")


ARROW_SCHEMAS = {**evidence_schemas.TABLES, "corpus_shard": corpus_shard.SCHEMA}
_REQUIRED = ("corpus_shard",)
"""Tables whose contract calls the columns nullable, though every row has a value."""


def _model(name: str, schema: pa.Schema) -> pap.DataFrameSchema:
    columns = {
        field.name: pap.Column(
            None, _VALUES[name].get(field.name), nullable=field.nullable and name not in _REQUIRED, required=True
        )
        for field in schema
    }
    return pap.DataFrameSchema(columns, checks=_BETWEEN_COLUMNS.get(name), name=name, strict=True, ordered=True)


MODELS = {name: _model(name, schema) for name, schema in ARROW_SCHEMAS.items()}
_WITH_MODELS = {_BY_MODELS: evidence_schemas.DOCUMENTS_BY_MODELS, _WITH_SAFETY: evidence_schemas.DOCUMENTS_WITH_SAFETY}
MODELS |= {name: _model(name, schema) for name, schema in _WITH_MODELS.items()}


def validate(rows: pa.Table | pa.RecordBatch, name: str, where: object = None) -> None:
    """Check a table or batch of `documents`, `files`, `clusters`, `lineage` or `corpus_shard`: columns, then values.

    Raises SchemaMismatchError that names the first field that is wrong, with the value found; `where` is its path.
    """
    if name not in MODELS:
        raise ConfigError(f"{name!r} is no table with a model; there are {', '.join(MODELS)}")
    where = where or name
    table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
    expected, model = ARROW_SCHEMAS[name], name
    for other, schema in _WITH_MODELS.items() if name == "documents" else ():
        if table.schema.names == schema.names:
            expected, model = schema, other
    if table.schema.names != expected.names:
        raise SchemaMismatchError(where, "columns", expected.names, table.schema.names, _TODO)
    for wanted, found in zip(expected, table.schema, strict=True):
        if wanted.type != found.type:
            raise SchemaMismatchError(where, wanted.name, wanted.type, found.type, _TODO)
    with config_context(validation_enabled=True, validation_depth=ValidationDepth.SCHEMA_AND_DATA):
        try:
            MODELS[model].validate(table)
        except SchemaError as error:
            raise _mismatch(error, where) from None


def _mismatch(error: SchemaError, where: object) -> SchemaMismatchError:
    """pandera's finding in the words of this project."""
    field = "row" if isinstance(error.schema, pap.DataFrameSchema) else error.schema.name
    check = getattr(error.check, "error", None) or str(error.check)
    expected = "no null" if check == "not_nullable" else check
    cases = error.failure_cases
    found = cases.slice(0, 1).to_pylist() if isinstance(cases, pa.Table) else cases
    return SchemaMismatchError(where, field, expected, str(found)[:300], _TODO)
