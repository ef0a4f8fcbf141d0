"""A version as a data set: its rows by split, its card and its Croissant, read by the libraries that read them."""

import hashlib
import json
import shutil
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.cli import main
from corpus_assets.commands.verify import verify_version
from corpus_assets.plans import croissant, dataset_card, spdx_words
from corpus_assets.plans.datasheet_figures import measure
from corpus_assets.plans.export_dataset import export_dataset
from corpus_assets.plans.for_people import shown
from corpus_assets.plans.page_markdown import front_matter, table
from corpus_assets.plans.published_version import open_published
from formats import corpus_manifest, corpus_shard, durable, evidence
from formats.errors import ConfigError, CorruptDataError
from tests import faults
from tests.formats import evidence_rows
from tests.plans import tiny_corpus
from tests.plans.tiny_corpus import V1, V2

HOSTILE = "Tales\n---\nlicense: mit | <b onclick='x'>\"q\"</b> \\ `c` [a](b) \u202e # $x$"


@pytest.fixture
def layout(tmp_path):
    return tiny_corpus.copy(tmp_path / "root")


def files_below(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def matter_of(readme):
    return yaml.safe_load(readme.split("---\n")[1])


@pytest.mark.parametrize(("key", "splits"), [(V1, ["train"]), (V2, ["train", "val"])])
def test_each_row_is_in_the_files_of_its_split_once_and_in_order(layout, tmp_path, key, splits):
    files = export_dataset(layout, key, tmp_path / "out")
    assert list(dict.fromkeys(one.split for one in files)) == splits
    for split in splits:
        mine = [one for one in files if one.split == split]
        assert [one.shard for one in mine] == [one["name"] for one in open_published(layout, key).manifest["shards"]]
        tables = [pq.read_table(tmp_path / "out" / one.path) for one in mine]
        assert all(one.schema == corpus_shard.SCHEMA for one in tables)
        assert [one.num_rows for one in tables] == [one.num_docs for one in mine]
        found = pa.concat_tables(tables).to_pylist()
        assert [row["id"] for row in found] == [doc.id for doc in corpus_shard.read_shards(layout.version(key), split)]
        assert {row["split"] for row in found} == {split}
    for one in files:
        data = (tmp_path / "out" / one.path).read_bytes()
        assert (one.num_bytes, one.sha256) == (len(data), hashlib.sha256(data).hexdigest())


def test_what_was_published_stays_as_it_is_and_equal_versions_give_equal_folders(layout, tmp_path):
    before = files_below(layout.corpus)
    export_dataset(layout, V2, tmp_path / "one")
    assert files_below(layout.corpus) == before
    assert verify_version(layout, V2).ok
    export_dataset(tiny_corpus.make(tmp_path / "elsewhere", V2), V2, tmp_path / "two")
    assert files_below(tmp_path / "one") == files_below(tmp_path / "two")


def test_the_card_says_splits_columns_and_counts_as_the_files_have_them(layout, tmp_path):
    files = export_dataset(layout, V2, tmp_path / "out")
    told = matter_of((tmp_path / "out" / "README.md").read_text())
    assert told["license"] == ["cc-by-4.0", "cc0-1.0", "other"]
    assert (told["license_name"], told["license_link"]) == ("by-source", "LICENSE.md")
    assert (told["language"], told["size_categories"]) == (["en"], ["n<1K"])
    (config,) = told["configs"]
    for one in config["data_files"]:
        found = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").glob(one["path"]))
        assert found == [file.path for file in files if file.split == one["split"]]
    info = told["dataset_info"]
    assert [one["name"] for one in info["features"]] == corpus_shard.SCHEMA.names
    assert {one["name"]: one["num_examples"] for one in info["splits"]} == {"train": 1, "val": 3}
    assert info["download_size"] == sum(one.num_bytes for one in files)
    assert set(dataset_card.COLUMNS) == set(corpus_shard.SCHEMA.names)
    licences = (tmp_path / "out" / "LICENSE.md").read_text()
    assert "stated on the cover" in licences
    assert "https://example.org/terms?a=1\\&b=2" in licences


def test_the_library_datasets_loads_the_folder(layout, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # read when it is imported
    datasets = pytest.importorskip("datasets", reason="datasets is not installed: pip install corpus-assets[cards]")
    export_dataset(layout, V2, tmp_path / "out")
    loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == ["train", "val"]
    for split, rows in loaded.items():
        assert list(rows.features) == corpus_shard.SCHEMA.names
        docs = list(corpus_shard.read_shards(layout.version(V2), split))
        assert [(row["id"], row["text"]) for row in rows] == [(doc.id, doc.text) for doc in docs]
        assert [row["sha256"] for row in rows] == [hashlib.sha256(doc.text.encode()).digest() for doc in docs]


def test_the_library_mlcroissant_finds_no_error_and_loads_every_record(layout, tmp_path):
    mlcroissant = pytest.importorskip(
        "mlcroissant", reason="mlcroissant is not installed: pip install corpus-assets[cards]"
    )
    export_dataset(layout, V2, tmp_path / "out")
    loaded = mlcroissant.Dataset(str(tmp_path / "out" / "croissant.json"))
    assert not loaded.metadata.ctx.issues.errors
    not_ours = ("datePublished", "MAJOR.MINOR.PATCH")  # no clock is read; a version has the name that people gave it
    issues = loaded.metadata.ctx.issues
    assert [one for one in issues.warnings if not any(words in one for words in not_ours)] == []
    docs = list(corpus_shard.read_shards(layout.version(V2)))
    rows = {row["documents/id"].decode(): row for row in loaded.records("documents")}
    assert sorted(rows) == sorted(doc.id for doc in docs)
    for doc in docs:
        row = rows[doc.id]
        assert row["documents/text"].decode() == doc.text
        assert row["documents/sha256"] == hashlib.sha256(doc.text.encode()).digest()
        assert (int(row["documents/n_chars"]), row["documents/url"].decode()) == (len(doc.text), doc.meta["url"])
    assert [row["splits/name"] for row in loaded.records("splits")] == ["train", "val"]


def test_croissant_names_every_file_by_hash_and_every_source_by_ledger_row(layout, tmp_path):
    files = export_dataset(layout, V2, tmp_path / "out")
    told = json.loads((tmp_path / "out" / "croissant.json").read_bytes())
    objects = {one["contentUrl"]: one for one in told["distribution"] if one["@type"] == "cr:FileObject"}
    assert {path: one["sha256"] for path, one in objects.items()} == {one.path: one.sha256 for one in files}
    shards = {
        f"shards/{one['name']}": f"sha256:{one['sha256']}" for one in open_published(layout, V2).manifest["shards"]
    }
    of_shards = [one["prov:wasDerivedFrom"] for one in objects.values()]
    assert {one["@id"]: one["identifier"] for one in of_shards} == shards
    rows = open_published(layout, V2).rows
    derived = {one["@id"]: one for one in told["prov:wasDerivedFrom"]}
    assert {name: one["identifier"] for name, one in derived.items()} == {
        f"sources/{name}": f"sha256:{row.digest}" for name, row in rows.items()
    }
    assert derived["sources/web"]["prov:label"] == tiny_corpus.HOSTILE_TITLE
    assert derived["sources/web"]["license"] == ["https://spdx.org/licenses/CC-BY-4.0.html", "LicenseRef-Own"]
    record_set = next(one for one in told["recordSet"] if one["@id"] == croissant.ROWS)
    assert [one["name"] for one in record_set["field"]] == corpus_shard.SCHEMA.names
    assert told["rai:dataCollectionTimeFrame"] == ["2026-11-30", "2026-11-30"]
    assert "email: 1 replaced by <EMAIL>" in told["rai:personalSensitiveInformation"]


def test_hostile_words_of_a_ledger_stay_words(layout, tmp_path):
    figures = measure(open_published(layout, V1))
    row = replace(figures.sources[0].row, title=HOSTILE, attribution=HOSTILE, license_evidence=HOSTILE)
    figures = replace(figures, sources=[replace(figures.sources[0], row=row), figures.sources[1]])
    figures = replace(figures, config=replace(figures.config, notes=HOSTILE))
    files = export_dataset(layout, V1, tmp_path / "out")
    readme = dataset_card.render(figures, files)
    assert matter_of(readme) == dataset_card.metadata(figures, files)
    for page in (readme, dataset_card.license_page(figures)):
        body = page.split("---\n", 2)[-1] if page.startswith("---") else page
        assert "<b" not in body.replace("\\<b", "")
        assert "[a]" not in body
        assert "\u202e" not in body
        rows = [line.replace("\\\\", "").replace("\\|", "") for line in body.splitlines() if line.startswith("| ")]
        assert {row.count("|") for row in rows} <= {3, 4, 5, 6}
    told = json.loads(croissant.render(figures, files))
    assert told["prov:wasDerivedFrom"][0]["prov:label"] == HOSTILE.replace("\n", "\ufffd").replace("\u202e", "\ufffd")


@given(st.dictionaries(st.sampled_from("abc"), st.text() | st.integers() | st.lists(st.text(), min_size=1), min_size=1))
def test_front_matter_is_yaml_of_what_was_given(fields):
    def seen(value):
        if isinstance(value, list):
            return [seen(one) for one in value]
        return shown(value) if isinstance(value, str) else value

    page = front_matter(fields)
    assert page.startswith("---\n")
    assert page.endswith("\n---")
    assert yaml.safe_load(page[4:-4]) == {name: seen(value) for name, value in fields.items()}


@given(st.lists(st.tuples(st.text(), st.text()), max_size=6))
def test_a_table_has_a_line_a_row_and_its_columns_whatever_the_cells_hold(rows):
    told = table(("a", "b"), rows, max_rows=4).split("\n") if rows else []
    assert len(told) == (2 + min(len(rows), 4) + (len(rows) > 4) if rows else 0)
    for line in told:
        borders = line.replace("\\\\", "").replace("\\|", "")
        assert borders.count("|") == 3


@pytest.mark.parametrize(
    ("expression", "hub", "addresses"),
    [
        ("MIT", ["mit"], ["https://spdx.org/licenses/MIT.html"]),
        ("CC0-1.0", ["cc0-1.0"], ["https://spdx.org/licenses/CC0-1.0.html"]),
        ("GPL-3.0-or-later", ["gpl-3.0"], ["https://spdx.org/licenses/GPL-3.0-or-later.html"]),
        ("ODC-By-1.0", ["odc-by"], ["https://spdx.org/licenses/ODC-By-1.0.html"]),
        ("LicenseRef-Public-Domain-US", ["other"], ["LicenseRef-Public-Domain-US"]),
        (
            "(MIT OR Apache-2.0) AND LicenseRef-X",
            ["apache-2.0", "mit", "other"],
            ["https://spdx.org/licenses/MIT.html", "https://spdx.org/licenses/Apache-2.0.html", "LicenseRef-X"],
        ),
        (
            "GPL-2.0-only WITH Classpath-exception-2.0",
            ["gpl-2.0", "other"],
            [
                "https://spdx.org/licenses/GPL-2.0-only.html",
                "https://spdx.org/licenses/Classpath-exception-2.0.html",
            ],
        ),
    ],
)
def test_a_licence_is_named_as_the_hub_and_as_spdx_name_it(expression, hub, addresses):
    assert spdx_words.hub_ids([expression]) == hub
    assert spdx_words.addresses(expression) == addresses


@pytest.mark.parametrize(
    ("num_docs", "words"),
    [
        (0, "n<1K"),
        (999, "n<1K"),
        (1_000, "1K<n<10K"),
        (9_999, "1K<n<10K"),
        (1_000_000, "1M<n<10M"),
        (999_999_999, "100M<n<1B"),
        (10**12 - 1, "100B<n<1T"),
        (10**12, "n>1T"),
        (10**15, "n>1T"),
    ],
)
def test_a_size_is_said_in_the_hubs_words(num_docs, words):
    assert dataset_card.size_category(num_docs) == words


def test_an_empty_version_has_one_empty_file_and_a_card(tmp_path):
    layout = tiny_corpus.write_inputs(tmp_path / "root", {"fables": [], "web": []})
    tiny_corpus.build(layout, V1)
    (file,) = export_dataset(layout, V1, tmp_path / "out")
    assert (file.split, file.num_docs) == ("train", 0)
    told = matter_of((tmp_path / "out" / "README.md").read_text())
    assert "language" not in told
    assert told["dataset_info"]["splits"] == [{"name": "train", "num_bytes": 0, "num_examples": 0}]


def test_a_damaged_shard_gives_no_folder(layout, tmp_path):
    faults.flip_byte(sorted(layout.version(V1).glob("*.parquet"))[-1], 100)
    with pytest.raises(CorruptDataError, match="sha256"):
        export_dataset(layout, V1, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["root"]


def test_counts_of_a_split_that_are_not_those_of_the_rows_are_refused(layout, tmp_path):
    path = layout.evidence(V2) / evidence.COUNTS
    counts = json.loads(path.read_bytes())
    counts["sources"]["web"]["splits"]["val"] += 1
    durable.write_file(path, json.dumps(counts).encode())
    evidence_rows.seal_as_it_lies(layout.evidence(V2))
    with pytest.raises(CorruptDataError, match="rows of val"):
        export_dataset(layout, V2, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("inside", ["out", "tiny/v1/out", "tiny/v3"])
def test_the_corpus_itself_gets_no_export(layout, inside):
    before = files_below(layout.corpus)
    with pytest.raises(ConfigError, match="is in the corpus"):
        export_dataset(layout, V1, layout.corpus / inside)
    assert files_below(layout.corpus) == before


def test_the_command_writes_once_and_says_what(layout, tmp_path, capsys):
    command = ["--root", str(layout.root), "export"]
    assert main([*command, "tiny.v2", "--to", "huggingface", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "train: 1 document in 2 files" in said
    assert "val: 3 documents in 2 files" in said
    assert main([*command, "tiny.v2", "--to", "huggingface", str(tmp_path / "out")]) == 2
    assert "is there already" in capsys.readouterr().err
    assert main([*command, "tiny.v2", "--to", "huggingface", str(tmp_path / "more"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["path"] for one in told][:1] == ["data/train-00000-of-00002.parquet"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tiny.v9", "--to", "huggingface"], "tiny.v9 is not published"),
        (["tiny.v1.bpe", "--to", "huggingface"], "is a snapshot"),
        (["tiny.v1", "--to", "huggingface", "--split", "val"], "--split is for snapshots"),
        (["tiny.v1", "--to", "mds"], "tiny.v1 is a version; --to mds takes a snapshot"),
    ],
)
def test_what_cannot_be_exported_is_wrong_usage(layout, tmp_path, capsys, words, said):
    assert main(["--root", str(layout.root), "export", words[0], *words[1:], str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_folder_can_be_moved(layout, tmp_path):
    export_dataset(layout, V1, tmp_path / "out")
    shutil.move(tmp_path / "out", tmp_path / "moved")
    shutil.rmtree(layout.root)
    manifest = json.loads((tmp_path / "moved" / corpus_manifest.NAME_ON_DISK).read_bytes())
    assert manifest["version"] == "v1"
    told = json.loads((tmp_path / "moved" / "croissant.json").read_bytes())
    assert all(
        (tmp_path / "moved" / one["contentUrl"]).is_file() for one in told["distribution"] if "contentUrl" in one
    )
