"""From a published version to a snapshot: every document once, every token once, the same bytes whatever ran."""

import hashlib
import json

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from corpus_assets.plans import snapshot as plan
from corpus_assets.plans.published_version import open_published
from corpus_assets.plans.token_shards import TokenBuild
from corpus_assets.stages.loaded_tokenizer import load_tokenizer
from formats import corpus_shard, token_config
from formats.errors import ConfigError, CorruptDataError
from formats.loader.data_loader import DataLoader
from formats.snapshot import token_shard
from resources.engines.local import LocalEngine
from tests.plans import tiny_corpus

END, PAD = "<|end|>", "<|pad|>"


def write_tokenizer(root, **changes):
    """A byte-level BPE trained on the tiny corpus, below the artifacts root."""
    tokenizer = Tokenizer(models.BPE(**changes))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=[END, PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([tiny_corpus.OWL, tiny_corpus.FERRY, tiny_corpus.CLOCK], trainer)
    data = tokenizer.to_str().encode()
    (root / "tokenizer.json").write_bytes(data)
    return {"path": "tokenizer.json", "sha256": hashlib.sha256(data).hexdigest()}


def config_of(tokenizer, **changes):
    document = {
        "tokens": "t16", "tokenizer": tokenizer, "end_of_document": END, "pad": PAD, "seq_len": 16, "shard_tokens": 60,
        **changes,
    }  # fmt: skip
    return token_config.from_document(document)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """(layout of a root with a published version, its tokenizer)."""
    layout = tiny_corpus.copy(tmp_path_factory.mktemp("tokens") / "root")
    return layout, write_tokenizer(layout.root)


def build_of(layout, config, version=tiny_corpus.V2, workers=1):
    engine = LocalEngine(scratch=layout.corpus / "work" / "scratch", workers=workers, processes=False)
    return TokenBuild(layout, engine, open_published(layout, version), config)


def documents_of(snapshot, split):
    """id -> its ids, put together from the pieces of all shards."""
    pieces = {}
    for shard in snapshot.shards(split):
        flat = np.array(token_shard.open_sequences(snapshot, shard, verify=True)).ravel()
        for piece in token_shard.read_index(snapshot, shard).to_pylist():
            part = flat[piece["start"] : piece["start"] + piece["length"]].tolist()
            assert pieces.setdefault(piece["id"], {}).setdefault(piece["first"], part) is part
    found = {name: [i for _, part in sorted(parts.items()) for i in part] for name, parts in pieces.items()}
    for name, parts in pieces.items():
        assert sum(map(len, parts.values())) == len(found[name])
        assert all(first == 0 or first in {f + len(p) for f, p in parts.items()} for first in parts)
    return found


@pytest.mark.parametrize("packing", ["concat", "best_fit"])
@pytest.mark.parametrize("seq_len", [7, 16, 4096])
def test_every_document_of_the_corpus_is_there_with_every_token(corpus, packing, seq_len):
    layout, tokenizer = corpus
    config = config_of(tokenizer, packing=packing, seq_len=seq_len)
    snapshot = plan.make_snapshot(build_of(layout, config))
    library = Tokenizer.from_file(str(layout.root / "tokenizer.json"))
    total = 0
    for split in ("train", "val"):
        texts = {doc.id: doc.text for doc in corpus_shard.read_shards(layout.version(tiny_corpus.V2), split=split)}
        found = documents_of(snapshot, split)
        assert set(found) == set(texts)
        for name, text in texts.items():
            assert found[name] == [*library.encode(text, add_special_tokens=False).ids, library.token_to_id(END)]
            total += len(found[name])
    counts = snapshot.document["counts"]
    assert (
        counts["tokens"] == sum(counts["tokens_by_lang"].values()) == sum(counts["tokens_by_bucket"].values()) == total
    )
    assert counts["documents"] == len(texts) + len(documents_of(snapshot, "train"))


def test_what_no_document_fills_is_padding(corpus):
    layout, tokenizer = corpus
    snapshot = plan.make_snapshot(build_of(layout, config_of(tokenizer, seq_len=4096)))
    pad, padded = snapshot.document["pad_id"], 0
    for shard in snapshot.shards("train") + snapshot.shards("val"):
        sequences = np.array(token_shard.open_sequences(snapshot, shard))
        padded += int((sequences == pad).sum())
    assert padded == snapshot.document["counts"]["padding"] > 0


def test_the_same_bytes_from_any_number_of_workers_and_a_second_build_changes_nothing(corpus, tmp_path):
    layout, tokenizer = corpus
    one = plan.make_snapshot(build_of(layout, config_of(tokenizer)))
    before = {path: path.stat().st_mtime_ns for path in one.folder.rglob("*")}
    assert plan.make_snapshot(build_of(layout, config_of(tokenizer))).snapshot_id == one.snapshot_id
    assert {path: path.stat().st_mtime_ns for path in one.folder.rglob("*")} == before
    other = tiny_corpus.copy(tmp_path / "other")
    again = plan.make_snapshot(build_of(other, config_of(write_tokenizer(other.root)), workers=3))
    assert again.snapshot_id == one.snapshot_id


def test_documents_are_in_the_order_of_their_hashes_through_all_shards_of_a_bucket(corpus):
    layout, tokenizer = corpus
    snapshot = plan.make_snapshot(build_of(layout, config_of(tokenizer, seed=5)))
    for bucket in snapshot.buckets("train"):
        order = [
            hashlib.sha256(f"5:{name}".encode()).digest()[:8]
            for shard in snapshot.shards("train")
            if shard.bucket == bucket.name
            for name in dict.fromkeys(token_shard.read_index(snapshot, shard)["id"].to_pylist())
        ]
        assert order == sorted(order)


def test_another_seed_length_or_tokenizer_is_another_snapshot_and_leaves_the_corpus_alone(corpus):
    layout, tokenizer = corpus
    before = {path: path.read_bytes() for path in layout.version(tiny_corpus.V2).iterdir()}
    names = {
        plan.make_snapshot(build_of(layout, config_of(tokenizer, **change))).snapshot_id
        for change in ({}, {"seed": 1}, {"seq_len": 8}, {"packing": "best_fit"}, {"tokens": "other"})
    }
    assert len(names) == 5
    assert {path: path.read_bytes() for path in layout.version(tiny_corpus.V2).iterdir()} == before


def test_buckets_are_those_of_the_config_or_of_the_ledger(corpus):
    layout, tokenizer = corpus
    named = plan.make_snapshot(build_of(layout, config_of(tokenizer, buckets={"all": ["fables", "web"]})))
    assert [bucket.name for bucket in named.buckets("train")] == ["all"]
    own = plan.make_snapshot(build_of(layout, config_of(tokenizer)))
    assert {bucket.name for split in ("train", "val") for bucket in own.buckets(split)} == {"fables", "web"}


def test_a_loader_reads_it(corpus):
    layout, tokenizer = corpus
    snapshot = plan.make_snapshot(build_of(layout, config_of(tokenizer)))
    weights = {bucket.name: 1 for bucket in snapshot.buckets("train")}
    with DataLoader(
        layout.root, snapshot.snapshot_id, mixture=weights, seed=1, dp_rank=0, dp_world=1, seq_len=16, batches=2
    ) as loader:
        assert next(loader).tokens.shape == (2, 16)


def test_a_special_token_in_a_text_ends_no_document(corpus):
    layout, tokenizer = corpus
    loaded = load_tokenizer(str(layout.root / tokenizer["path"]), tokenizer["sha256"], END, PAD)
    ids, (length,) = loaded.encode([f"before {END} after"])
    assert length == len(ids)
    assert (ids == loaded.end).sum() == 1
    assert ids[-1] == loaded.end


@pytest.mark.parametrize(("change", "error", "says"), [
    ({"sha256": "0" * 64}, CorruptDataError, "sha256"),
    ({"path": "missing.json"}, CorruptDataError, "missing"),
])  # fmt: skip
def test_another_tokenizer_file_is_refused(corpus, change, error, says):
    layout, tokenizer = corpus
    with pytest.raises(error, match=says):
        plan.make_snapshot(build_of(layout, config_of({**tokenizer, **change})))


def test_tokens_that_the_tokenizer_does_not_have_and_files_that_are_none_are_refused(corpus, tmp_path):
    layout, tokenizer = corpus
    with pytest.raises(ConfigError, match="has no token"):
        plan.make_snapshot(build_of(layout, config_of(tokenizer, end_of_document="<none>")))
    (tmp_path / "text.json").write_text(json.dumps({"version": "1.0"}))
    digest = hashlib.sha256((tmp_path / "text.json").read_bytes()).hexdigest()
    with pytest.raises(ConfigError, match="is no tokenizer"):
        load_tokenizer(str(tmp_path / "text.json"), digest, END, None)


def test_a_tokenizer_that_draws_at_random_is_refused(tmp_path):
    tokenizer = write_tokenizer(tmp_path, dropout=0.1)
    with pytest.raises(ConfigError, match="dropout"):
        load_tokenizer(str(tmp_path / "tokenizer.json"), tokenizer["sha256"], END, None)
