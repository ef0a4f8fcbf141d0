"""House rules that a machine can hold: who may import whom, and that a changed stage says so in its code version."""

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden import stage_sources

ROOT = Path(__file__).resolve().parents[1]
FIRST_PARTY = ("corpus_assets", "resources", "formats")
FOLDERS = ("stages", "kernels", "plans", "records", "validation", "commands", "checks")
RESOURCE_FOLDERS = ("engines", "download", "guarded", "remote")


def modules() -> dict[str, Path]:
    """Every module of the project by its dotted name."""
    paths = (path for top in FIRST_PARTY for path in sorted((ROOT / top).rglob("*.py")))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


MODULES = modules()


def imports(path: Path) -> Iterator[str]:
    """Dotted names that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module


def room(name: str) -> str:
    """Which room a module is in: formats, kernels, stages, …, assets for the files of the graph."""
    parts = name.split(".")
    if parts[0] == "corpus_assets":
        return parts[1] if len(parts) > 2 or (len(parts) == 2 and parts[1] in FOLDERS) else "assets"
    if parts[0] == "resources":
        return ".".join(parts[:2]) if len(parts) > 2 or parts[-1] in RESOURCE_FOLDERS else "resources"
    return parts[0]


MAY_IMPORT = {
    "formats": {"formats"},
    "kernels": {"kernels", "formats"},
    "stages": {"stages", "kernels", "formats"},
    "records": {"records", "formats", "stages"},
    "validation": {"validation", "formats"},
    "plans": {
        "plans",
        "stages",
        "kernels",
        "records",
        "validation",
        "formats",
        "resources.engines",
        "resources.download",
        "resources.guarded",
        "resources.remote",
    },
    "resources.engines": {"resources.engines", "formats"},
    "resources.download": {"resources.download", "formats"},
    "resources.guarded": {"resources.guarded", "formats"},
    "resources.remote": {"resources.remote", "formats"},
    "resources": {"resources", "resources.engines", "resources.download", "resources.remote", "formats"},
}
"""Rooms that only look down. Assets, checks and commands are above them all."""

MAY_USE_DAGSTER = {"assets", "checks", "resources", "commands"}
CONSUMER_LIBRARIES = {"numpy", "pyarrow", "zstandard"}
"""What `formats` may need beside the standard library: it is what a consumer imports."""
USED_WHEN_PRESENT = {"formats.loader.shard_files": {"fsspec"}, "formats.loader.torch_dataset": {"torch"}}
"""Loaded for what it is needed for alone: inside a function, or by a module that no other imports."""


@pytest.mark.parametrize("name", MODULES)
def test_imports_go_down_only(name):
    allowed = MAY_IMPORT.get(room(name))
    if allowed is None:
        return
    wrong = {i for i in imports(MODULES[name]) if i.split(".")[0] in FIRST_PARTY and room(i) not in allowed}
    assert not wrong, f"{name} ({room(name)}) imports {sorted(wrong)}"


@pytest.mark.parametrize("name", [name for name in MODULES if room(name) == "kernels"])
def test_kernels_know_of_formats_only_the_errors(name):
    assert {i for i in imports(MODULES[name]) if i.startswith("formats")} <= {"formats.errors"}


@pytest.mark.parametrize("name", MODULES)
def test_dagster_is_known_only_at_the_top(name):
    if room(name) in MAY_USE_DAGSTER:
        return
    assert not [i for i in imports(MODULES[name]) if i.split(".")[0].startswith("dagster")]


@pytest.mark.parametrize("name", [name for name in MODULES if room(name) == "formats"])
def test_formats_need_nothing_that_a_consumer_has_not(name):
    outside = {i.split(".")[0] for i in imports(MODULES[name])} - set(FIRST_PARTY) - set(sys.stdlib_module_names)
    assert outside <= CONSUMER_LIBRARIES | USED_WHEN_PRESENT.get(name, set())


def test_what_needs_torch_is_imported_by_nothing_of_ours():
    assert not [name for name, path in MODULES.items() if "formats.loader.torch_dataset" in set(imports(path))]


@pytest.mark.parametrize("name", MODULES)
def test_no_file_is_a_drawer(name):
    assert not re.fullmatch(r"utils?|common|helpers?|misc", name.rpartition(".")[2])
    assert len(MODULES[name].read_text("utf-8").splitlines()) < 500


def test_only_compiled_functions_of_kernels_go_without_annotations():
    """numba gives those their types; mypy lets any function of the room go without."""
    for name in (name for name in MODULES if room(name) == "kernels"):
        for node in ast.walk(ast.parse(MODULES[name].read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.returns is None:
                assert any("njit" in ast.unparse(one) for one in node.decorator_list), f"{name}.{node.name}"


def test_what_is_suppressed_has_its_reason_beside_it():
    """A broad except, and what a linter or a type checker is told not to say; what is needless they tell themselves."""
    for path in MODULES.values():
        lines = path.read_text("utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            if re.search(r"except (Base)?Exception\b|suppress\((Base)?Exception\)", line):
                assert re.search(r"  # \w", line), f"{path}:{number}: {line}"
            elif found := re.search(r"# (noqa: [A-Z]+\d+|type: ignore\[[a-z-]+\])(.*)", line):
                assert re.search(r"\w", found[2]), f"{path}:{number}: {line}"


def test_asset_files_show_dagster_the_real_types():
    for name, path in MODULES.items():
        if room(name) in ("assets", "checks"):
            assert "from __future__ import annotations" not in path.read_text("utf-8"), name


def test_every_format_has_its_page():
    described = {path.stem for path in (ROOT / "formats").glob("*.md")}
    assert {
        "ledger",
        "corpus_config",
        "raw_set",
        "partial",
        "dataset",
        "corpus_shard",
        "corpus_manifest",
        "evidence",
    } <= described


def test_a_stage_whose_source_changed_has_another_code_version():
    """After a change: raise the CODE_VERSION of each stage named here, then python -m tests.golden.stage_sources."""
    golden = json.loads(stage_sources.GOLDEN.read_text("utf-8"))
    now = stage_sources.of_today()
    stale = stage_sources.unsaid(golden, now)
    assert not stale, f"changed without a new CODE_VERSION: {', '.join(stale)}"
    assert now == golden, "stages came, went or have a new version: python -m tests.golden.stage_sources"


def golden_with(path: Path, **changes: str) -> Path:
    """The golden file as it would be today, but for the first stage."""
    now = stage_sources.of_today()
    first = min(now)
    path.write_text(json.dumps({**now, first: {**now[first], **changes}}), "utf-8")
    return path


def test_the_golden_sources_are_not_written_over_a_code_version_that_was_forgotten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    golden = golden_with(tmp_path / "golden.json", sources="0" * 64)
    before = golden.read_bytes()
    assert stage_sources.main([], golden) == 1
    assert golden.read_bytes() == before
    assert f"changed without a new CODE_VERSION, nothing written: {min(json.loads(before))}" in capsys.readouterr().err
    assert stage_sources.main(["--released"], golden) == 2
    assert golden.read_bytes() == before
    assert stage_sources.main(["--unreleased"], golden) == 0
    assert json.loads(golden.read_text("utf-8")) == stage_sources.of_today()


def test_the_golden_sources_are_written_once_the_code_version_is_another(tmp_path: Path) -> None:
    golden = golden_with(tmp_path / "golden.json", sources="0" * 64, code_version="'0'")
    assert stage_sources.main([], golden) == 0
    assert json.loads(golden.read_text("utf-8")) == stage_sources.of_today()


def test_constraints_pin_what_the_project_needs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = {re.split(r"[\[><=~!; ]", line)[0].lower().replace("_", "-") for line in project["dependencies"]}
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "corpus_assets" / "constraints.txt").read_text("utf-8").splitlines()
        if "==" in line
    }
    assert wanted <= pinned
