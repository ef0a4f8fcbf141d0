"""The engine as a Dagster resource: where its settings come from, and which are refused."""

from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from formats.errors import ConfigError
from formats.layout import Layout
from resources.engine import EngineResource, parse_bytes
from resources.engines.local import LocalEngine

LAYOUT = Layout(Path("artifacts"))


def settings(resource: EngineResource) -> LocalEngine:
    """The engine that the resource opens, without whom it tells how far it is."""
    return replace(resource.open(LAYOUT), progress=None)


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch):
    monkeypatch.delenv("CORPUS_WORKERS", raising=False)
    monkeypatch.delenv("CORPUS_MEMORY", raising=False)


def test_defaults_are_two_workers_and_a_gibibyte_below_the_work_folder():
    scratch = Path("artifacts/corpus/work/scratch")
    assert settings(EngineResource()) == LocalEngine(scratch=scratch, workers=2, memory_bytes=2**30)


def test_the_environment_sets_what_the_resource_leaves_open(monkeypatch):
    monkeypatch.setenv("CORPUS_WORKERS", "7")
    monkeypatch.setenv("CORPUS_MEMORY", "3GB")
    engine = settings(EngineResource(processes=True, scratch_dir="/fast"))
    assert engine == LocalEngine(scratch=Path("/fast"), workers=7, memory_bytes=3 * 10**9, processes=True)
    engine = EngineResource(workers=1, memory="512 MiB").open(LAYOUT)
    assert (engine.workers, engine.memory_bytes) == (1, 512 * 2**20)


def test_dagster_hands_the_resource_its_config():
    @dg.asset
    def shards(engine: EngineResource) -> int:
        return engine.open(LAYOUT).memory_bytes

    config = {"resources": {"engine": {"config": {"memory": "2GB", "workers": 3}}}}
    done = dg.materialize([shards], resources={"engine": EngineResource.configure_at_launch()}, run_config=config)
    assert done.output_for_node("shards") == 2 * 10**9


@pytest.mark.parametrize(
    ("size", "num_bytes"),
    [("1B", 1), ("1kb", 1_000), ("1.5 GB", 1_500_000_000), ("1GiB", 2**30), ("2 TiB", 2**41), (" 64MiB ", 2**26)],
)
def test_sizes_are_a_number_and_a_unit_decimal_or_binary(size, num_bytes):
    assert parse_bytes(size) == num_bytes


@pytest.mark.parametrize("size", ["", "1", "GB", "-1GB", "1 G B", "1GB extra", "1,5GB", "١GB", "1e3MB"])
def test_anything_else_is_refused(size):
    with pytest.raises(ConfigError, match="expected a number and a unit"):
        parse_bytes(size)


@pytest.mark.parametrize("workers", ["many", "-1", "2.5", ""])
def test_workers_that_are_no_number_are_refused(monkeypatch, workers):
    monkeypatch.setenv("CORPUS_WORKERS", workers)
    with pytest.raises(ConfigError, match="expected a whole number of workers"):
        EngineResource().open(LAYOUT)


@pytest.mark.parametrize("settings", [{"workers": 0}, {"memory": "1MB"}])
def test_settings_too_small_to_work_are_refused(settings):
    with pytest.raises(ConfigError, match="expected at least"):
        EngineResource(**settings).open(LAYOUT)
