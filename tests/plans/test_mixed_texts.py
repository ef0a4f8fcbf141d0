"""Texts in two languages: `und` where a config asks for it; which languages they are stands in the evidence."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from corpus_assets.commands.trace_words import document_lines
from corpus_assets.commands.verify import verify_version
from corpus_assets.plans.datasheet_figures import measure
from corpus_assets.plans.datasheet_words import known_limits
from corpus_assets.plans.published_version import open_published
from corpus_assets.plans.tracing import trace
from formats import evidence
from formats.layout import Layout
from tests.formats import evidence_rows
from tests.plans import tiny_corpus
from tests.plans.tiny_corpus import FABLES, FERRY, V1, WEB
from tests.stages.test_identify_language import PARAGRAPHS

RUSSIAN = " ".join(
    f"Пекарь номер {word} открывал свою лавку до рассвета, и вся улица пахла тёплым хлебом."
    for word in ("один", "два", "три", "пять", "семь")
)
MIXED = {
    "url": "https://example.org/mixed",
    "text": f"{FERRY.replace('grey', 'slow')}\n\n{RUSSIAN}\n\n{PARAGRAPHS['ru']}",
}


def make(root: Path, **lang: str) -> Layout:
    layout = tiny_corpus.write_inputs(root, {"fables": FABLES, "web": [*WEB, MIXED]})
    layout.config(V1).write_text(json.dumps({**json.loads(layout.config(V1).read_text()), "lang": lang}))
    tiny_corpus.build(layout, V1)
    return layout


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return make(tmp_path_factory.mktemp("mixed") / "root", mixed="und")


def languages(layout: Layout) -> dict[str, str]:
    table = pa.Table.from_batches(evidence.read(layout.evidence(V1), "documents"))
    return dict(zip(table["id"].to_pylist(), table["lang"].to_pylist(), strict=True))


def test_the_two_languages_stand_in_the_evidence_and_the_version_is_right(layout):
    [row] = pa.Table.from_batches(evidence.read(layout.evidence(V1), "mixed_languages")).to_pylist()
    assert (row["id"], {row["certain"], row["likely"]}) == ("web:4", {"en", "ru"})
    assert languages(layout)["web:4"] == "und"
    report = verify_version(layout, V1)
    assert report.ok, [str(problem) for check in report.checks for problem in check.problems]


def test_the_datasheet_says_that_two_languages_are_a_reason_only_where_the_config_asks(layout):
    figures = measure(open_published(layout, V1))
    figures.sources[0].counts["languages"]["und"] = 1
    assert "no language label: too short, in two languages, or the two voices unsure" in " ".join(known_limits(figures))
    rules = replace(figures.config.lang, mixed="greatest")
    figures = replace(figures, config=replace(figures.config, lang=rules))
    assert "no language label: too short, or the two voices unsure" in " ".join(known_limits(figures))


def test_trace_says_which_languages_they_are(layout):
    [document] = trace(layout, "web:4", [V1]).documents
    [line] = [
        words for name, words in document_lines(document, whole_text=False) if words.startswith("in two languages")
    ]
    assert {word for word in line.split() if word in ("en", "ru")} == {"en", "ru"}
    [other] = trace(layout, "web:1", [V1]).documents
    assert other.mixed is None


def test_by_default_a_mixed_text_has_a_label_and_there_is_no_such_table(layout, tmp_path):
    plain = make(tmp_path / "root")
    assert not (plain.evidence(V1) / "mixed_languages.parquet").exists()
    labels, before = languages(layout), languages(plain)
    assert before["web:4"] in ("en", "ru")
    assert {name for name in before if before[name] != labels[name]} == {"web:4"}


def test_a_row_of_a_document_with_a_label_is_found_out(tmp_path):
    other = make(tmp_path / "root", mixed="und")
    rows = [{"id": "web:1", "certain": "en", "certain_share": 500, "likely": "ru", "likely_share": 500}]
    evidence.write(other.evidence(V1), "mixed_languages", evidence_rows.table("mixed_languages", rows).to_batches())
    evidence_rows.seal_as_it_lies(other.evidence(V1))
    problems = [str(problem) for check in verify_version(other, V1).checks for problem in check.problems]
    assert any("mixed_languages names web:1, which is not und in documents" in problem for problem in problems)
