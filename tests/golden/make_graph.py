"""The golden graph: python -m tests.golden.make_graph

Every asset of two versions of the tiny corpus: its group, its partition keys, the upstream keys of each of its own, and
its checks with which of them block. It may change only with the design of the graph.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import dagster as dg

from formats.naming import TokensKey, VersionKey
from tests.assets import graph, tiny, tiny_models, tiny_tokens

GOLDEN = Path(__file__).with_name("graph.json")
V2 = VersionKey("tiny", "v2")


def described(defs: dg.Definitions) -> dict[str, Any]:
    """The graph as JSON."""
    assets = defs.resolve_asset_graph()
    found = {}
    for key in sorted(assets.get_all_asset_keys()):
        node = assets.get(key)
        found[key.to_user_string()] = {
            "group": node.group_name,
            "observed": node.is_observable,
            "keys": _keys(node.partitions_def),
            "upstream": {parent.to_user_string(): _edges(assets, node, parent) for parent in sorted(node.parent_keys)},
            "checks": {
                check.name: "blocks" if assets.get(check).blocking else "tells"
                for check in sorted(node.check_keys, key=lambda check: check.name)
            },
        }
    return found


def _keys(partitions: dg.PartitionsDefinition | None) -> list[str] | None:
    return None if partitions is None else list(partitions.get_partition_keys())


def _edges(assets: Any, node: Any, parent: dg.AssetKey) -> dict[str, list[str]] | str:
    """Per partition of the asset the partitions of its parent that it is made of."""
    above = assets.get(parent).partitions_def
    if above is None:
        return "all"
    mapping = assets.get_partition_mapping(node.key, parent)
    found = {}
    for key in node.partitions_def.get_partition_keys():
        mine = node.partitions_def.subset_with_partition_keys([key])
        mapped = mapping.get_upstream_mapped_partitions_result_for_partitions(mine, node.partitions_def, above)
        found[key] = sorted(mapped.partitions_subset.get_partition_keys())
    return found


def of_two_versions(folder: Path) -> dict[str, Any]:
    """The graph of tiny.v1 with three sources, two token sets and two models, and tiny.v2 with two sources and one."""
    layout = tiny.unbuilt(folder)
    tiny.write_config(layout, V2, sources=["tales", "web"])
    for key in (tiny_tokens.KEY, tiny_tokens.OTHER, TokensKey(V2, "t16")):
        tiny_tokens.write(layout, key)
    tiny_models.write(layout)
    tiny_models.write(layout, tiny_models.FLUENT)
    tiny_models.write(layout, "later", version=str(V2), positive=["tales"], negative=["web"])
    with graph.loaded(layout) as defs:
        return described(defs)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        GOLDEN.write_text(json.dumps(of_two_versions(Path(folder) / "root"), indent=1) + "\n", "utf-8")
