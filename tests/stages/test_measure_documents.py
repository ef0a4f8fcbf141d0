import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.exact_text import EMPTY_DIGEST
from corpus_assets.stages.function_words import FUNCTION_WORDS
from corpus_assets.stages.measure_documents import measure_documents
from corpus_assets.stages.normalize_documents import normalize_documents
from formats.stage_tables import RAW, SIGNALS
from tests.kernels import reference_signals as reference

BAKER = "The baker opened his shop before sunrise, and the whole street smelled of bread. "


def documents(*texts):
    raw = [
        {
            "raw_line": i,
            "url": f"file.txt#{i}",
            "fetched_at": "2026-01-01T00:00:00Z",
            "license_spdx": "MIT",
            "text": text,
        }
        for i, text in enumerate(texts)
    ]
    batch = pa.RecordBatch.from_pylist(raw, RAW)
    return normalize_documents(batch, source_id="tales", raw_part=0, first_k=10)


def measured(*texts, **options):
    found = measure_documents(documents(*texts), **options)
    found.validate(full=True)
    assert found.schema == SIGNALS
    return found.to_pylist()


@settings(deadline=None)
@given(st.lists(st.text(max_size=40), max_size=5))
def test_counts_are_those_of_the_normalized_text_in_the_order_of_the_rows(texts):
    batch = documents(*texts)
    found = measured(*texts)
    assert [row["k"] for row in found] == [10 + i for i in range(len(texts))]
    assert [row["n_chars"] for row in found] == batch["n_chars"].to_pylist()
    for row, text in zip(found, batch["text"].to_pylist(), strict=True):
        counted = reference.signals(text, FUNCTION_WORDS.get(row["lang"], FUNCTION_WORDS["en"]).split())
        assert {name: row[name] for name in counted} == counted


def test_ids_dates_digests_and_language_go_along():
    first, second, empty = measured(BAKER, BAKER.upper() + "\n", "")
    assert first["doc_id"] != second["doc_id"]
    assert first["exact_digest"] == second["exact_digest"] != EMPTY_DIGEST == empty["exact_digest"]
    assert {row["crawl_date"] for row in (first, second, empty)} == {"2026-01-01T00:00:00Z"}
    assert (first["lang"], empty["lang"]) == ("en", "und")
    assert first["lang_score"] > 500
    assert empty["lang_score"] is None


def test_quality_is_null_because_nothing_measures_it_here():
    assert [row["quality"] for row in measured("a", BAKER)] == [None, None]


def test_the_second_voice_can_be_left_out_where_the_first_is_sure():
    (row,) = measured(BAKER, second_voice="unsure")
    assert (row["lang"], row["lang_score"]) == ("en", None)


def test_no_documents_are_no_signals():
    assert measured() == []


def test_a_cut_into_batches_does_not_show():
    batch = documents("a b", BAKER, "", "x\nx\nx", "我喜欢猫")
    whole = measure_documents(batch)
    parts = [measure_documents(batch[i : i + 2]) for i in (0, 2, 4)]
    assert pa.Table.from_batches(parts).equals(pa.Table.from_batches([whole]))
