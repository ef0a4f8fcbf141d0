"""A stage run as a job of its own under spark-submit, by Dagster Pipes: for long stages on a cluster.

The job makes the stage's outputs; the asset then finds them made, by their identity, and reports them as ever. The
driver runs here (client mode, the default of spark-submit), and the workers share the artifacts root.
"""

import os
import pickle
import subprocess
import sys
from base64 import b64decode
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import dagster as dg

from formats.errors import ConfigError, TransientError
from formats.layout import Layout

JOB = "corpus_assets.stage_job"
"""What spark-submit runs, with the artifacts root, the stage and its partition."""


def run(context: dg.AssetExecutionContext, command: Sequence[str], layout: Layout, engine: dict[str, Any]) -> None:
    """Run the stage of `context` as `command` (spark-submit and its options) says. Raises what the stage raised, as
    raised; ConfigError where the command cannot be run, or ran something else; TransientError where the job died
    without a word.
    """
    found = find_spec(JOB)
    assert found is not None
    assert found.origin is not None
    stage = [str(layout.root), context.op_def.name, context.partition_key]
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    with dg.open_pipes_session(
        context=context,
        context_injector=dg.PipesTempFileContextInjector(),
        message_reader=dg.PipesTempFileMessageReader(),
        extras={"engine": engine},
    ) as session:
        environment = {**python, **os.environ, **session.get_bootstrap_env_vars()}
        try:
            ended = subprocess.run([*command, found.origin, *stage], env=environment, check=False)
        except OSError as error:
            raise ConfigError(
                f"engine spark_submit (CORPUS_SPARK_SUBMIT): {command[0]} cannot be run ({error.strerror}); install "
                f"the extra `spark`, or name spark-submit by its path"
            ) from error
    told: dict[str, Any] = {}
    for message in session.get_custom_messages():
        told |= message
    if "raised" in told:
        raise pickle.loads(b64decode(told["raised"]))
    if ended.returncode:
        raise TransientError(
            f"{' '.join(command)}: the job of {stage[1]} ended with {ended.returncode}; what it said stands in this "
            f"run's output; what it finished is kept: run again"
        )
    if "made" not in told:
        raise ConfigError(
            f"engine spark_submit (CORPUS_SPARK_SUBMIT): {' '.join(command)} ended well and did not run the job of "
            f"{stage[1]}; expected spark-submit with its options, in client mode"
        )
