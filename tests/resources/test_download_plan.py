"""What a fetch would do, told before it does anything; and a fetch that may only go on from what is here."""

import pytest

from formats import partial
from formats.errors import ConfigError, TransientError
from resources.download.wanted import Planned
from tests.fault_server import Answer, FaultServer, serving
from tests.resources.download_helpers import CONTENT, OTHER, fetcher, give_up, names_in, sha256, some_bytes, wanted


def test_plan_lists_planned_partial_and_verified_with_bytes_and_changes_nothing(tmp_path):
    contents = {name: some_bytes(200_000, name) for name in ("whole", "part", "none")}
    with FaultServer() as server:
        files = {name: wanted(server.put(f"/{name}", content), content) for name, content in contents.items()}
        server.files["/part"].script.append(Answer(drop_after=150_000))
        fetcher(tmp_path).fetch_all([files["whole"]])
        with pytest.raises(TransientError):
            fetcher(tmp_path, max_tries=1).fetch_all([files["part"]])
        before, asked = names_in(tmp_path), len(server.requests)
        planned = fetcher(tmp_path).plan(list(files.values()))
        assert planned == [
            Planned(server.url("/whole"), "verified", 200_000, 200_000),
            Planned(server.url("/part"), "partial", 200_000, 150_000),
            Planned(server.url("/none"), "planned", 200_000, 0),
        ]
        assert (names_in(tmp_path), len(server.requests)) == (before, asked)


def test_a_plan_needs_no_cache_folder_and_makes_none(tmp_path):
    assert fetcher(tmp_path / "not there").plan([wanted("http://example.org/f", b"x")])[0].state == "planned"
    assert not (tmp_path / "not there").exists()


def test_resume_only_refuses_a_fresh_start_before_any_request(tmp_path):
    with serving(CONTENT, [Answer(drop_after=100_000)]) as (server, url):
        fresh = wanted(server.put("/fresh", OTHER), OTHER)
        give_up(tmp_path, url, CONTENT)
        asked = len(server.requests)
        with pytest.raises(ConfigError, match=r"--resume-only: 1 of 2 files.*/fresh"):
            fetcher(tmp_path).fetch_all([wanted(url, CONTENT), fresh], resume_only=True)
        assert len(server.requests) == asked
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)], resume_only=True)
        assert fetcher(tmp_path).fetch_all([wanted(url, CONTENT)], resume_only=True) == [path]
    assert path.read_bytes() == CONTENT
    assert server.requests[-1].start == 100_000


@pytest.mark.parametrize("change", ["no checkpoint", "unreadable checkpoint", "other bytes"])
def test_resume_only_refuses_a_partial_file_that_cannot_be_trusted_and_leaves_it(tmp_path, change):
    part = tmp_path / f"{sha256(CONTENT)}.partial"
    with serving(CONTENT, [Answer(drop_after=100_000)]) as (_, url):
        give_up(tmp_path, url, CONTENT)
        if change == "no checkpoint":
            partial.path_of(part).unlink()
        elif change == "unreadable checkpoint":
            partial.path_of(part).write_bytes(b"{")
        else:
            part.write_bytes(OTHER[:100_000])
        before = part.read_bytes()
        with pytest.raises(ConfigError, match="--resume-only"):
            fetcher(tmp_path).fetch_all([wanted(url, CONTENT)], resume_only=True)
        assert part.read_bytes() == before
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT


def test_resume_only_refuses_to_discard_what_is_here_when_the_file_changed(tmp_path):
    with serving(CONTENT, [Answer(drop_after=100_000), Answer(etag='"other"')]) as (_, url):
        give_up(tmp_path, url, CONTENT)
        with pytest.raises(ConfigError, match=r"--resume-only.*the file changed on the server"):
            fetcher(tmp_path).fetch_all([wanted(url, CONTENT)], resume_only=True)
    assert (tmp_path / f"{sha256(CONTENT)}.partial").stat().st_size == 100_000


def test_another_address_goes_on_from_the_same_bytes_without_the_first_ones_etag(tmp_path):
    with FaultServer() as server:
        first = server.put("/first", CONTENT, [Answer(drop_after=100_000)])
        mirror = server.put("/mirror", CONTENT, [Answer(drop_after=1000)], etag='"mirror"')
        give_up(tmp_path, first, CONTENT)
        [path] = fetcher(tmp_path).fetch_all([wanted(mirror, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert [(r.path, r.start, r.if_range) for r in server.requests] == [
        ("/first", 0, None),
        ("/mirror", 100_000, None),
        ("/mirror", 101_000, '"mirror"'),
    ]
