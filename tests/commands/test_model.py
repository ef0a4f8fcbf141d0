"""`corpus model`: what it trains, writes and says, and what it refuses."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.commands import model
from corpus_assets.plans.train_quality import auc_millionths
from corpus_assets.validation import plain_yaml
from formats import durable
from formats.corpus_config import from_document
from formats.errors import ConfigError
from formats.layout import Layout
from tests.commands import command_line
from tests.formats.test_corpus_config import document
from tests.plans import tiny_corpus

pytest.importorskip("kenlm")
pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def layout(tmp_path_factory) -> Layout:
    return tiny_corpus.copy(tmp_path_factory.mktemp("model") / "root")


def run(layout: Layout, *words: str) -> int:
    return command_line.run(model, layout.root, "model", *words)


QUALITY = ("quality", "tiny.v1", "--positive", "fables", "--negative", "web")
PERPLEXITY = ("perplexity", "tiny.v1", "--language", "en", "--sources", "fables,web")


@pytest.mark.parametrize(("words", "name"), [(QUALITY, "quality"), (PERPLEXITY, "ppl")])
def test_the_lines_to_paste_are_a_section_that_pins_the_file(layout, tmp_path, capsys, words, name):
    out = layout.root / f"{name}.model"
    assert run(layout, *words, "--out", str(out)) == 0
    told = capsys.readouterr().out
    pasted = tmp_path / "pasted.yaml"
    pasted.write_text(told[told.index("\n", told.index("For the config")) :])
    config = from_document(document(**plain_yaml.read(pasted).value))
    pinned = config.quality.model if name == "quality" else config.ppl.models[0]
    assert (layout.root / pinned.path, pinned.sha256) == (out, durable.sha256_of(out))
    assert pinned.path == f"{name}.model"
    assert config.model_filters == (name,)


def test_json_says_all_that_the_words_say(layout, capsys):
    for words in (QUALITY, PERPLEXITY):
        out = layout.root / f"{words[0]}.json.model"
        assert run(layout, *words, "--json", "--out", str(out)) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["model"], told["sha256"]) == (str(out), durable.sha256_of(out))
        assert ("auc" in told, "percentiles" in told) == (words is QUALITY, words is PERPLEXITY)


@pytest.mark.parametrize("words", [QUALITY, PERPLEXITY])
def test_a_file_that_is_there_is_left_as_it_is(layout, tmp_path, words):
    out = tmp_path / "model"
    out.write_text("pinned by somebody")
    with pytest.raises(ConfigError, match="is there already, and a version may pin it"):
        run(layout, *words, "--out", str(out))
    assert out.read_text() == "pinned by somebody"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("quality", "tiny.v9", "--positive", "fables", "--negative", "web"), "tiny.v9 is not published"),
        (("quality", "tiny.v1", "--positive", "fables", "--negative", "wbe"), "has no source wbe; it has fables, web"),
        (("quality", "tiny.v1", "--positive", "fables,web", "--negative", "web"), "web cannot be both positive and"),
        (("perplexity", "tiny.v1", "--language", "fr", "--sources", "web"), "no train documents in language fr of web"),
        (("perplexity", "tiny.v1", "--language", "en", "--sources", "nobody"), "has no source nobody"),
    ],
)
def test_what_does_not_exist_is_said_and_nothing_is_written(layout, tmp_path, words, says):
    with pytest.raises(ConfigError, match=re.escape(says)):
        run(layout, *words, "--out", str(tmp_path / "model"))
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_missing_is_said_before_anything_is_read(layout, tmp_path):
    with pytest.raises(ConfigError, match="is no folder"):
        run(layout, "quality", "tiny.v9", "--positive", "a", "--negative", "b", "--out", str(tmp_path / "no" / "model"))


@pytest.mark.parametrize("words", [("--megachars", "0"), ("--megachars", "many"), ("--positive", ",")])
def test_wrong_options_are_wrong_usage(layout, tmp_path, words, capsys):
    with pytest.raises(SystemExit) as ended:
        run(layout, *QUALITY, *words, "--out", str(tmp_path / "model"))
    assert ended.value.code == 2
    capsys.readouterr()


def test_a_language_that_no_document_has_is_wrong_usage(layout, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        run(layout, "perplexity", "tiny.v1", "--language", "jp", "--sources", "web", "--out", str(tmp_path / "model"))
    assert ended.value.code == 2
    assert "argument --language: expected an ISO 639-1 code" in (told := capsys.readouterr().err)
    assert told.endswith("did you mean ja?\n")


scores = st.lists(st.integers(0, 20), max_size=20).map(lambda values: np.array(values, np.int32))


@given(scores, scores)
def test_auc_is_the_share_of_pairs_in_the_right_order(good, bad):
    if not len(good) or not len(bad):
        assert auc_millionths(good, bad) is None
        return
    twice = sum(2 * (one > other) + (one == other) for one in good.tolist() for other in bad.tolist())
    assert auc_millionths(good, bad) == twice * 1_000_000 // (2 * len(good) * len(bad))
