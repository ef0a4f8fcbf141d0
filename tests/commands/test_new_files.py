"""What a person asks for by --out never replaces a part of the corpus, a device, or a model that a version may pin."""

import os
import stat

import pytest

from corpus_assets.commands.new_files import as_configs_name_it, check_place
from formats import durable
from formats.errors import ConfigError
from formats.layout import Layout


@pytest.fixture
def layout(tmp_path):
    made = Layout(tmp_path / "root")
    (made.corpus / "tiny" / "v1").mkdir(parents=True)
    made.snapshots.mkdir()
    made.ledger.write_text("{}\n")
    return made


@pytest.mark.parametrize(
    "name", ["corpus/LEDGER.jsonl", "corpus/tiny/v1/page.html", "corpus/../corpus/x.html", "snapshots/x.html", "corpus"]
)
def test_a_place_in_the_corpus_is_refused(layout, name):
    with pytest.raises(ConfigError, match="lies in the corpus"):
        check_place(layout, layout.root / name)


def test_a_place_in_the_corpus_behind_a_link_is_refused(layout, tmp_path):
    (tmp_path / "link").symlink_to(layout.corpus)
    with pytest.raises(ConfigError, match="lies in the corpus"):
        check_place(layout, tmp_path / "link" / "page.html")


@pytest.mark.parametrize("what", ["folder", "pipe", "link", "device"])
def test_what_is_no_ordinary_file_is_refused_and_stays(layout, tmp_path, what):
    place = tmp_path / "place"
    match what:
        case "folder":
            place.mkdir()
        case "pipe":
            os.mkfifo(place)
        case "link":
            place.symlink_to(layout.ledger)
        case _:
            place = type(place)("/dev/full")
    before = place.lstat()
    with pytest.raises(ConfigError, match="no ordinary file"):
        check_place(layout, place)
    assert (place.lstat().st_mode, place.lstat().st_ino) == (before.st_mode, before.st_ino)


def test_a_pipe_is_not_replaced_by_any_writer(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="no ordinary file"):
        durable.write_file(tmp_path / "pipe", b"page")
    assert stat.S_ISFIFO((tmp_path / "pipe").lstat().st_mode)


def test_a_page_may_be_written_again_and_a_model_not(layout, tmp_path):
    place = tmp_path / "out"
    assert check_place(layout, place) == place
    place.write_text("before")
    assert check_place(layout, place) == place
    with pytest.raises(ConfigError, match="a version may pin it"):
        check_place(layout, place, is_model=True)
    with pytest.raises(ConfigError, match="is no folder"):
        check_place(layout, tmp_path / "none" / "out")


def test_a_config_names_a_file_below_the_root_from_there(layout, tmp_path):
    assert as_configs_name_it(layout, layout.root / "lists" / ".." / "model.bin") == "model.bin"
    assert as_configs_name_it(layout, tmp_path / "model.bin") == str(tmp_path / "model.bin")
