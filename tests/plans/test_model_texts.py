"""The sample that models are trained on, against a twin; and a classifier that learns what tells documents apart."""

import hashlib
import sys

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.plans import model_texts, train_quality
from corpus_assets.plans.model_texts import PublishedTexts
from corpus_assets.plans.pinned import load_pairs, pin_row
from corpus_assets.plans.published_version import PublishedVersion
from corpus_assets.plans.raw_set import make_raw_set
from formats import corpus_shard, ledger, quality_model
from formats.corpus_shard import Doc, read_shards, write_shards
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import VersionKey
from tests.assets import tiny
from tests.plans import tampering

KEY = VersionKey("some", "v1")


def document(source: str, k: int, text: str, lang: str = "en") -> Doc:
    return Doc(f"{source}:{k}", text, source, {"url": f"{source}#{k}", "license_spdx": "MIT", "lang": lang})


DOCS = [
    document(source, k, f"{word} number {k} " * (1 + k % 4), "de" if k % 7 == 0 else "en")
    for source, word in (("books", "sonnet"), ("web", "menu"), ("other", "stone"))
    for k in range(40)
]


@pytest.fixture(scope="module")
def version(tmp_path_factory) -> PublishedVersion:
    layout = Layout(tmp_path_factory.mktemp("texts"))
    manifest = write_shards(DOCS, layout.version(KEY), dataset="some", version="v1", shard_rows=17, val_permille=200)
    rows = dict.fromkeys(("books", "web", "other"))
    return PublishedVersion(layout, KEY, "", manifest, {}, {}, {}, rows)


def twin(version, sources, lang, max_chars, seed):
    """(train, held out) texts, by a list of documents and Python's sort."""
    mine = [
        doc
        for doc in read_shards(version.folder, "train")
        if doc.source_id in sources and lang in (None, doc.meta["lang"])
    ]
    mine.sort(key=lambda doc: hashlib.sha256(f"{seed}:{doc.id}".encode()).digest()[:8])
    chosen, chars = [], 0
    for doc in mine:
        chars += len(doc.text)
        if chosen and chars > max_chars:
            break
        chosen.append(doc.text)
    held = [i % 5 == 4 for i in range(len(chosen))]
    return [t for t, h in zip(chosen, held, strict=True) if not h], [t for t, h in zip(chosen, held, strict=True) if h]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("max_chars", [1, 300, 1000, 10**9])
@pytest.mark.parametrize("lang", [None, "de"])
@pytest.mark.parametrize("sources", [("web",), ("other", "books")])
def test_the_sample_equals_the_twin(version, sources, lang, max_chars, seed):
    drawn = model_texts.draw(PublishedTexts(version), sources, lang=lang, max_chars=max_chars, seed=seed)
    found = drawn.train.to_pylist(), drawn.held_out.to_pylist()
    assert found == twin(version, sources, lang, max_chars, seed)


def test_no_val_row_is_seen(version):
    val = {doc.text for doc in read_shards(version.folder, "val")}
    drawn = model_texts.draw(PublishedTexts(version), ("web", "books", "other"), max_chars=10**9, seed=1)
    assert val
    assert not val & {*drawn.train.to_pylist(), *drawn.held_out.to_pylist()}
    assert drawn.available == len(DOCS) - sum(1 for _ in read_shards(version.folder, "val"))


# Documents as raw_fetch holds them.


@pytest.fixture(scope="module")
def raw(tmp_path_factory) -> model_texts.RawTexts:
    layout = tiny.unbuilt(tmp_path_factory.mktemp("raw") / "root")
    build = tampering.a_build(layout)
    for key in tiny.PAIRS:
        row = pin_row(layout, key)
        make_raw_set(layout, ledger.from_json(row), [layout.corpus / file["url"] for file in row["files"]])
    return model_texts.raw_texts(build, load_pairs(layout, tiny.V1))


TEXTS = {"notes": tiny.NOTES, "tales": tiny.TALES, "web": tiny.WEB}


def is_val(text: str) -> bool:
    return corpus_shard.split_of(hashlib.sha256(text.encode()).digest(), tiny.config()["val_permille"]) == "val"


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("max_chars", [1, 900, 10**9])
@pytest.mark.parametrize("sources", [("web",), ("tales", "notes"), ("tales", "web", "notes")])
def test_raw_documents_are_drawn_as_the_twin_draws_them(raw, sources, max_chars, seed):
    """Equal texts once, by the first of them; what is val as it stands is left out; no rule asked."""
    mine, seen = [], set()
    for source in sorted(sources):
        for k, text in enumerate(TEXTS[source]):
            if not is_val(text) and text.lower() not in seen:
                seen.add(text.lower())
                mine.append((hashlib.sha256(f"{seed}:{source}:{k}".encode()).digest()[:8], text))
    chosen, chars = [], 0
    for _, text in sorted(mine):
        chars += len(text)
        if chosen and chars > max_chars:
            break
        chosen.append(text)
    drawn = model_texts.draw(raw, sources, max_chars=max_chars, seed=seed)
    assert drawn.train.to_pylist() == [text for i, text in enumerate(chosen) if i % 5 != 4]
    assert drawn.held_out.to_pylist() == chosen[4::5]
    assert drawn.available == len(mine)


def test_raw_documents_hold_what_no_rule_would_keep_and_nothing_of_val(raw):
    drawn = model_texts.draw(raw, ("tales", "web", "notes"), max_chars=10**9, seed=1)
    texts = [*drawn.train.to_pylist(), *drawn.held_out.to_pylist()]
    every = [text for source in TEXTS.values() for text in source]
    assert any(map(is_val, every))
    assert not any(map(is_val, texts))
    assert "Short." in texts or is_val("Short.")


def test_a_source_or_language_that_is_not_there_is_said(raw):
    with pytest.raises(ConfigError, match=r"tiny.v1 has no source wbe; it has notes, tales, web"):
        model_texts.draw(raw, ("wbe",), max_chars=1, seed=1)
    with pytest.raises(ConfigError, match=r"tiny.v1 has no train documents in language xx of web"):
        model_texts.draw(raw, ("web",), lang="xx", max_chars=1, seed=1)


def test_a_classifier_tells_held_out_documents_apart_and_is_the_same_each_time(version):
    pytest.importorskip("sklearn")
    trained = train_quality.train(PublishedTexts(version), ("books",), ("web", "other"), max_chars=10**6, seed=1)
    assert trained.auc_millionths == 1_000_000
    assert trained.kept_by(500) == (len(trained.scores[0]), 0)
    again = train_quality.train(PublishedTexts(version), ("books",), ("web", "other"), max_chars=10**6, seed=1)
    assert quality_model.to_bytes(again.model) == quality_model.to_bytes(trained.model)
    other = train_quality.train(PublishedTexts(version), ("books",), ("web", "other"), max_chars=10**6, seed=2)
    assert quality_model.to_bytes(other.model) != quality_model.to_bytes(trained.model)


def test_scores_are_those_of_scikit_learn():
    """What the kernel computes from whole numbers is the probability that the fitted classifier gives."""
    linear_model, sparse = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("scipy.sparse")
    fitted = []

    class Watched:
        """Keeps the classifier that `fit` makes."""

        def SGDClassifier(self, **settings):
            fitted.append(linear_model.SGDClassifier(**settings))
            return fitted[0]

    good, bad = (
        pa.array([doc.text for doc in DOCS if doc.source_id == source], pa.large_string())
        for source in ("books", "web")
    )
    model = train_quality.fit(good, bad, Watched(), sparse, 1)
    texts = pa.concat_arrays([good, bad])
    starts, rows = train_quality.quality_features(texts, model.weights.size)
    counts = np.diff(starts)
    values = np.repeat(1 / np.sqrt(counts), counts)
    exact = fitted[0].predict_proba(sparse.csr_matrix((values, rows, starts), shape=(len(texts), model.weights.size)))
    found = train_quality.quality_scores(texts, model.weights, model.bias, quality_model.SCALE)
    assert np.abs(found - 1000 * exact[:, 1]).max() <= 0.51


def test_without_scikit_learn_it_is_said_how_to_get_it(version, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(ConfigError, match=r"pip install 'corpus-assets\[train\]'"):
        train_quality.train(PublishedTexts(version), ("books",), ("web",), max_chars=10, seed=1)
