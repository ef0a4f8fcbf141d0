"""Digests of what each stage's code is, so that a change without a new code version is noticed.

python -m tests.golden.stage_sources      remakes stage_sources.json, after the code versions were raised

A stage's code is the syntax tree of its file and of every file of stages, kernels and records it imports, without
docstrings and comments.
"""

import ast
import hashlib
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).with_name("stage_sources.json")
ROOMS = ("stages", "kernels", "records")


def _path(name: str) -> Path:
    return ROOT / Path(*name.split(".")).with_suffix(".py")


def _uses(tree: ast.AST) -> set[str]:
    """Modules of the rooms that a file imports."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                parts = name.split(".")
                if parts[0] == "corpus_assets" and len(parts) == 3 and parts[1] in ROOMS and _path(name).exists():
                    found.add(name)
    return found


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                one
                for one in body
                if not (
                    isinstance(one, ast.Expr)
                    and isinstance(one.value, ast.Constant)
                    and isinstance(one.value.value, str)
                )
            ]
    return tree


def _closure(name: str) -> dict[str, str]:
    """Digest of every file that the module's code consists of."""
    found: dict[str, str] = {}
    todo = [name]
    while todo:
        module = todo.pop()
        if module in found:
            continue
        tree = ast.parse(_path(module).read_text("utf-8"))
        todo += _uses(tree)
        found[module] = hashlib.sha256(ast.dump(_without_docstrings(tree)).encode()).hexdigest()
    return found


def _code_version(module: str) -> str | None:
    """The CODE_VERSION that a file states, as written."""
    for node in ast.parse(_path(module).read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "CODE_VERSION":
            return ast.unparse(node.value)
    return None


def of_today() -> dict[str, dict[str, str]]:
    """Per stage that states a code version: the version, and one digest over its sources."""
    found = {}
    for room in ROOMS:
        for path in sorted((ROOT / "corpus_assets" / room).glob("*.py")):
            name = f"corpus_assets.{room}.{path.stem}"
            version = _code_version(name)
            if version is not None:
                sources = hashlib.sha256(json.dumps(sorted(_closure(name).items())).encode()).hexdigest()
                found[name] = {"code_version": version, "sources": sources}
    return found


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(of_today(), indent=2, sort_keys=True) + "\n", "utf-8")
