"""What models measure: only of documents that are in, by the right model; and model files that are refused."""

import gzip
import hashlib
import sys
from pathlib import Path

import fasttext
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.plans import kneser_ney
from corpus_assets.stages import score_perplexity
from corpus_assets.stages.measure_by_models import measure_by_models
from corpus_assets.stages.score_perplexity import MAX_SIGNAL, perplexities, stored_model
from corpus_assets.stages.score_quality import stored_scorer
from formats import durable, quality_model
from formats.errors import ConfigError, CorruptDataError
from formats.quality_model import QualityModel
from formats.stage_tables import SIGNALS, SIGNALS_BY_MODELS
from tests import faults
from tests.kernels.test_fasttext import LABELS, model_bytes

pytest.importorskip("kenlm")

TEXTS = ["The mill stands still.", "Die Mühle steht.", "", "mill mill mill", "a b c d"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Arguments of the stage, but that each language has its own model."""
    folder = tmp_path_factory.mktemp("models")
    weights = np.random.default_rng(3).integers(-(3 << 20), 3 << 20, 1 << 10).astype(np.int32)
    quality = folder / "quality.bin"
    found = {"quality": {"path": str(quality), "sha256": quality_model.write(QualityModel(weights, 0), quality)}}
    found["quality"]["label"] = None
    found["ppl"] = {}
    for lang, sentences in (("en", ["the mill stands still", "the mill"]), ("de", ["die mühle steht", "die mühle"])):
        path = folder / f"{lang}.arpa"
        path.write_bytes(kneser_ney.to_arpa(kneser_ney.train(pa.array(sentences, pa.large_string()))))
        found["ppl"][lang] = {"path": str(path), "sha256": durable.sha256_of(path)}
    return found


def measured(rows, **models):
    """(text, lang, verdict) rows -> SIGNALS_BY_MODELS rows."""
    k = pa.array(range(10, 10 + len(rows)), pa.int64())
    batch = pa.RecordBatch.from_arrays([k, pa.array([row[0] for row in rows], pa.large_string())], ["k", "text"])
    counted = [
        {**dict.fromkeys(SIGNALS.names, 0), "k": 10 + i, "doc_id": "d", "crawl_date": "c", "exact_digest": bytes(32)}
        | {"lang": row[1], "lang_score": None, "quality": None}
        for i, row in enumerate(rows)
    ]
    signals = pa.Table.from_pylist(counted, SIGNALS)
    verdicts = pa.table({"k": k, "verdict": pa.array([row[2] for row in rows], pa.large_string())})
    out = measure_by_models(batch, signals, verdicts, **models)
    out.validate(full=True)
    assert out.schema == SIGNALS_BY_MODELS
    assert out.select(["k", "lang"]).to_pylist() == [{"k": 10 + i, "lang": row[1]} for i, row in enumerate(rows)]
    return [(row["quality"], row["ppl"]) for row in out.to_pylist()]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(TEXTS), st.sampled_from(["en", "de", "fr", "und"]), st.sampled_from(["kept", "too_short"])
        ),
        max_size=8,
    )
)
def test_each_document_that_is_in_is_scored_alone_by_the_model_of_its_language(models, rows):
    score = stored_scorer(**models["quality"])
    expected = []
    for text, lang, verdict in rows:
        column = pa.array([text], pa.large_string())
        of_lang = models["ppl"].get(lang)
        if verdict != "kept":
            expected.append((None, None))
        else:
            ppl = perplexities(column, stored_model(**of_lang))[0].as_py() if of_lang else None
            expected.append((int(score(column)[0]), ppl))
    assert measured(rows, **models) == expected


def test_without_a_model_nothing_is_measured():
    assert measured([("The mill.", "en", "kept")], quality=None, ppl={}) == [(None, None)]


def test_text_without_words_has_no_perplexity_and_text_of_unknown_words_a_high_one(models):
    english = stored_model(**models["ppl"]["en"])
    none, known, unknown = perplexities(
        pa.array(["?!", "the mill", "qq ww ee"], pa.large_string()), english
    ).to_pylist()
    assert none is None
    assert 1000 <= known < unknown


def test_a_perplexity_beyond_what_is_stored_counts_as_the_largest():
    class Hopeless:
        def score(self, _line):
            return -400.0

    assert perplexities(pa.array(["word"], pa.large_string()), Hopeless()).to_pylist() == [MAX_SIGNAL]


@pytest.mark.parametrize("change", faults.every_change(b"0123456789"))
def test_another_language_model_than_the_pinned_one_is_refused_by_name(models, tmp_path, change):
    pinned = models["ppl"]["en"]
    path = tmp_path / "en.arpa"
    path.write_bytes(faults.every_change(Path(pinned["path"]).read_bytes())[change])
    with pytest.raises(CorruptDataError, match="sha256") as raised:
        stored_model(str(path), pinned["sha256"])
    assert raised.value.path == str(path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no model at all\n",
        b"\\data\\\nngram 1=2\n\n\\1-grams:\n-1\ta\n",
        b"mmap lm http://kheafield.com/code format",
        gzip.compress(b"\\data\\\n", mtime=0),
    ],
)
def test_a_pinned_file_that_is_no_language_model_is_refused_by_name(tmp_path, data):
    path = tmp_path / "none.arpa"
    path.write_bytes(data)
    with pytest.raises(
        CorruptDataError, match=r"is no such model .KenLM says: .*expected a language model of KenLM's"
    ) as raised:
        stored_model(str(path), hashlib.sha256(data).hexdigest())
    assert raised.value.path == str(path)


def test_a_cut_arpa_file_with_its_own_digest_is_refused(models, tmp_path):
    data = Path(models["ppl"]["en"]["path"]).read_bytes()
    path = tmp_path / "cut.arpa"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(CorruptDataError, match=r"is no such model .KenLM says: .*expected a language model of KenLM's"):
        stored_model(str(path), durable.sha256_of(path))


def test_without_the_library_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "kenlm", None)
    with pytest.raises(ConfigError, match=r"pip install 'corpus-assets\[kenlm\]'"):
        score_perplexity.library()


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    path, data = tmp_path_factory.mktemp("fasttext") / "model.bin", model_bytes()
    path.write_bytes(data)
    return path, hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("label", LABELS)
def test_a_fasttext_file_scores_as_its_library_says(classifier, label):
    path, sha256 = classifier
    texts = [*TEXTS, "bread\nBrot pain", "</s> a"]
    library = fasttext.load_model(str(path)).f
    found = stored_scorer(str(path), sha256, label)(pa.array(texts, pa.large_string())).tolist()
    for text, score in zip(texts, found, strict=True):
        answers = {name: p for p, name in library.predict(text.replace("\n", " ") + "\n", -1, 0.0, "strict")}
        assert abs(score - min(1000 * answers[f"__label__{label}"], 1000)) <= 1


@pytest.mark.parametrize("label", [None, "nl"])
def test_a_fasttext_file_needs_one_of_its_labels(classifier, label):
    with pytest.raises(ConfigError, match="its labels are en, de, fr, zh, xx: name the good one"):
        stored_scorer(str(classifier[0]), classifier[1], label)


def test_a_quality_model_has_no_label(models):
    quality = models["quality"]
    with pytest.raises(ConfigError, match="leave label out"):
        stored_scorer(quality["path"], quality["sha256"], "good")


def test_a_nul_parts_words_and_ends_no_text_that_is_scored(models):
    """Report 11: a library in C ends a text at it, and the rest has no say."""
    spaced, with_nul, begun = "the mill stands still", "the mill\0stands still", "the mill"
    rows = [(text, "en", "kept") for text in (spaced, with_nul, begun, f"{begun}\0")]
    (_, whole), (_, found), (_, short), (_, closed) = measured(rows, **models)
    assert found == whole
    assert closed == short
    assert whole != short


def test_a_classifier_with_languages_scores_documents_in_them_alone(models):
    """Also where it is one that reads any language, and where none of the documents is in its own."""
    rows = [(text, lang, "kept") for text in TEXTS for lang in ("en", "de", "und", None)]
    everywhere = [score for score, _ in measured(rows, quality=models["quality"], ppl={})]
    for langs in (["en"], ["de", "und"], ["fr"]):
        scores = measured(rows, quality={**models["quality"], "langs": langs}, ppl={})
        expected = [one if row[1] in langs else None for row, one in zip(rows, everywhere, strict=True)]
        assert [score for score, _ in scores] == expected
