"""One stage as a job of its own, under spark-submit: what resources/submitted.py runs. Prints nothing of its own.

spark-submit [OPTIONS] stage_job.py ROOT STAGE PARTITION
"""

import pickle
import sys
from base64 import b64encode
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dagster_pipes import PipesContext, open_dagster_pipes

from corpus_assets.plans import (
    clusters,
    keepers,
    near_edges,
    ngram_index,
    publish,
    scrub,
    token_shards,
    trained_models,
)
from corpus_assets.plans.pinned import Build, load_pair, load_pairs
from corpus_assets.plans.source_stages import measuring, signatures, verdicts
from corpus_assets.plans.token_build import open_build
from corpus_assets.plans.work import Output
from formats.errors import CorpusError
from formats.layout import Layout
from formats.naming import PairKey, TokensKey, VersionKey
from resources.engines import spark_session
from resources.engines.pool import portable
from resources.engines.spark import SparkEngine


def _of_source(*plans: Callable[[Build, Any], Output]) -> Callable[[Build, str], list[Output]]:
    def outputs(build: Build, partition: str) -> list[Output]:
        pair = load_pair(build.layout, PairKey.parse(partition))
        made = []
        for plan in plans:  # one after the other: each opens the one before it
            made.append(plan(build, pair))
            made[-1].make()
        return made

    return outputs


def _measured(build: Build, partition: str) -> list[Output]:
    made = []
    for stage in measuring(build, load_pair(build.layout, PairKey.parse(partition))):
        stage.make()
        made.append(stage)
    return made


def _dedup(build: Build, partition: str) -> list[Output]:
    pairs = load_pairs(build.layout, VersionKey.parse(partition))
    made = []
    for plan in (keepers.ranks, near_edges.edges, clusters.dedup_clusters):
        made.append(plan(build, pairs))
        made[-1].make()
    return made


def _scrub(build: Build, partition: str) -> list[Output]:
    key = PairKey.parse(partition)
    made = scrub.scrubbed_docs(build, load_pairs(build.layout, key.version), load_pair(build.layout, key))
    made.make()
    return [made]


def _publish(build: Build, partition: str) -> list[Output]:
    publish.publish(build, load_pairs(build.layout, VersionKey.parse(partition)))
    return []


def _tokens(build: Build, partition: str) -> list[Output]:
    of_tokens = open_build(build.layout, build.engine, TokensKey.parse(partition))
    made = []
    for plan in (token_shards.tokenized, token_shards.packed):
        made.append(plan(of_tokens))
        made[-1].make()
    return made


def _index(build: Build, partition: str) -> list[Output]:
    ngram_index.write_ngram_index(build, VersionKey.parse(partition))
    return []


def _model(build: Build, partition: str) -> list[Output]:
    trained_models.train_model(build, partition)
    return []


STAGES: dict[str, Callable[[Build, str], list[Output]]] = {
    "doc_signals": _measured,
    "filtered_docs": _of_source(verdicts),
    "minhash_signatures": _of_source(signatures),
    "dedup_clusters": _dedup,
    "scrubbed_docs": _scrub,
    "publish": _publish,
    "token_shards": _tokens,
    "ngram_index": _index,
    "trained_models": _model,
}
"""What each step of the graph that uses the engine makes, by the step's name."""


def run(pipes: PipesContext, root: str, stage: str, partition: str) -> None:
    """Make the stage's outputs on the context of spark-submit; tell their digests, or what was raised."""
    layout = Layout(Path(root))
    engine = SparkEngine(
        address=spark_session.SUBMITTED, scratch=layout.corpus / "work" / "scratch", **pipes.extras["engine"]
    )
    try:
        outputs = STAGES[stage](Build(layout, engine), partition)
        for made in outputs:
            stored = made.open()
            pipes.log.info(f"{made.identity.stage}: {stored.rows} rows in {len(stored.shards)} shards, {stored.digest}")
        pipes.report_custom_message({"made": len(outputs)})
    except CorpusError as error:  # raised again by the asset, as it was
        pipes.report_custom_message({"raised": b64encode(pickle.dumps(portable(error))).decode()})
        raise
    finally:
        engine.close()


def main(arguments: Sequence[str]) -> None:
    with open_dagster_pipes() as pipes:
        run(pipes, *arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
