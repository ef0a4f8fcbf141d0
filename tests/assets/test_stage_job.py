"""Every step of the graph that hands its work to a job of its own is one that the job knows, by its name."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from corpus_assets.stage_job import STAGES
from tests.assets import graph, tiny


def steps_that_open_an_engine_with_their_context(defs: dg.Definitions) -> Iterator[str]:
    """By their source: each calls `engine.open(layout, context)`, which under CORPUS_SPARK_SUBMIT runs the job."""
    for key in defs.resolve_all_asset_keys():
        node = defs.get_assets_def(key).node_def
        if isinstance(node, dg.OpDefinition):
            source = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(node.compute_fn.decorated_fn))))
            if any(opens_with_context(call) for call in ast.walk(source)):
                yield node.name


def opens_with_context(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name("engine"), attr="open"), args=[_, _]):
            return True
    return False


def test_the_job_knows_exactly_the_steps_that_are_run_as_one(tmp_path: Path) -> None:
    with graph.loaded(tiny.unbuilt(tmp_path)) as defs:
        assert STAGES.keys() == set(steps_that_open_an_engine_with_their_context(defs))
