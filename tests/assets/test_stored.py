"""With a store named, the graph ends there: assets push what was published, and checks ask the store for it."""

from collections.abc import Iterator

import dagster as dg
import pytest

from corpus_assets.plans.audit_stored import is_stored
from formats.layout import Layout
from resources.remote.s3 import S3Store
from tests import s3_server
from tests.assets import graph
from tests.golden import make_release
from tests.golden.make_release import KEY, TOKENS
from tests.s3_server import Fault, S3Server


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server.running() as server:
        yield server


@pytest.fixture
def store(server: S3Server) -> S3Store:
    return s3_server.new_store(server)


@pytest.fixture
def layout(tmp_path) -> Layout:
    return make_release.copy(make_release.releases()[-1], tmp_path / "root")


@pytest.fixture
def defs(layout: Layout, store: S3Store) -> Iterator[dg.Definitions]:
    with graph.loaded(layout, CORPUS_STORE=store.address.url) as defs:
        yield defs


def test_without_a_store_the_graph_has_no_such_assets(layout):
    with graph.loaded(layout) as defs:
        names = {key.to_user_string() for key in defs.resolve_asset_graph().get_all_asset_keys()}
    assert "snapshot" in names
    assert not {"stored_version", "stored_snapshot"} & names


def test_a_version_and_its_snapshot_are_stored_and_a_rerun_sends_nothing(server, store, defs, layout):
    with graph.instance() as instance:
        for key, asset, check in (
            (KEY, "stored_version", "version_is_stored"),
            (TOKENS, "stored_snapshot", "snapshot_is_stored"),
        ):
            ran = graph.run(defs, instance, key, asset)
            assert ran.success, graph.failures(ran)
            assert graph.checks(ran)[check].passed
            server.requests.clear()
            again = graph.run(defs, instance, key, asset)
            assert server.puts() == []
            assert graph.data_versions(again) == graph.data_versions(ran)
    assert store.about(f"corpus/{KEY.dataset}/{KEY.version}/_MANIFEST.json")
    assert store.read(f"snapshots/{TOKENS}.lock") == layout.snapshot_lock(TOKENS).read_bytes()


def test_what_is_gone_there_is_found_by_the_check_and_sent_by_the_next_run(server, store, defs, layout):
    gone = f"corpus/{KEY.dataset}/{KEY.version}.evidence/counts.json"
    with graph.instance() as instance:
        graph.run(defs, instance, KEY, "stored_version")
        store.remove(gone)
        found = is_stored(store, layout, str(KEY))  # what the check asks, alone: a run would mend it first
        assert not found.passed
        assert gone in found.words
        server.requests.clear()
        assert graph.run(defs, instance, KEY, "stored_version").success
        assert [key.split("/", 2)[2] for key in server.puts()] == [gone]


def test_a_store_that_refuses_fails_the_run_in_words_without_a_secret(server, defs):
    server.faults.append(Fault(lambda one: one.method == "PUT", status=403, code="SignatureDoesNotMatch", times=99))
    with graph.instance() as instance:
        ran = graph.run(defs, instance, KEY, "stored_version")
        assert not ran.success
        log = graph.log_of(instance) + graph.failures(ran)
    assert "access is refused (SignatureDoesNotMatch)" in log
    assert s3_server.SECRET not in log
    assert s3_server.KEY_ID not in log
