"""A stage as a job of its own: what it raises is raised here, and what kept it from saying anything is told."""

import shutil
import sys

import dagster as dg
import pytest

from formats.errors import ConfigError, TransientError
from formats.layout import Layout
from resources.engine import EngineResource

PARTITION = "tiny.v1"


def materialize(layout: Layout, command: str, stage: str = "dedup_clusters") -> None:
    """An asset of that name as the graph has it, up to where it opens its engine."""

    @dg.asset(name=stage, partitions_def=dg.StaticPartitionsDefinition([PARTITION]))
    def asset(context: dg.AssetExecutionContext, engine: EngineResource) -> None:
        engine.open(layout, context)

    resources = {"engine": EngineResource(spark_submit=command)}
    dg.materialize([asset], partition_key=PARTITION, resources=resources)


def test_what_the_job_raises_the_asset_raises(tmp_path):
    with pytest.raises(ConfigError, match=r"configs/tiny/v1\.yaml"):
        materialize(Layout(tmp_path), sys.executable)  # there is no such version; it fails before it needs Spark


@pytest.mark.parametrize(
    ("stage", "words"), [("ngram_index", r"tiny\.v1 is not published"), ("trained_models", r"tiny\.v1")]
)
def test_what_has_no_source_of_its_own_is_run_as_a_job_too(tmp_path, stage, words):
    with pytest.raises(ConfigError, match=words):
        materialize(Layout(tmp_path), sys.executable, stage)


def test_a_job_that_dies_without_a_word_may_be_run_again(tmp_path):
    with pytest.raises(TransientError, match=r"the job of dedup_clusters ended with 1.*run again"):
        materialize(Layout(tmp_path), shutil.which("false") or "false")


def test_a_command_that_is_no_spark_submit_makes_nothing_in_silence(tmp_path):
    with pytest.raises(
        ConfigError, match=r"true ended well and did not run the job of dedup_clusters; expected spark-"
    ):
        materialize(Layout(tmp_path), shutil.which("true") or "true")


def test_a_command_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ConfigError, match="nowhere-submit cannot be run"):
        materialize(Layout(tmp_path), str(tmp_path / "nowhere-submit"))
