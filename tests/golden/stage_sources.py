"""Digests of what each stage's code is, so that a change without a new code version is noticed.

python -m tests.golden.stage_sources                  remakes stage_sources.json, after the code versions were raised
python -m tests.golden.stage_sources --unreleased     also where a code version was not raised

Without the flag nothing is written while a stage's code differs from the golden one under the same code version: its
stored outputs would be taken for those of the new code. The flag is for a change that leaves every byte of the output
as it was (a name, an annotation), and, while nothing is released, for outputs that nobody has.

A stage's code is the syntax tree of its file and of every file of stages, kernels and records it imports, without
docstrings and comments.
"""

import ast
import hashlib
import json
import sys
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
            node.body = [
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


def unsaid(golden: dict[str, dict[str, str]], now: dict[str, dict[str, str]]) -> list[str]:
    """The stages whose code changed since the golden file and whose code version did not."""
    return [
        stage
        for stage, one in now.items()
        if stage in golden
        and golden[stage]["sources"] != one["sources"]
        and golden[stage]["code_version"] == one["code_version"]
    ]


def main(arguments: list[str], golden: Path = GOLDEN) -> int:
    """Write `golden` anew; 1, with nothing written, when a code version has to be raised first."""
    if arguments not in ([], ["--unreleased"]):
        print("usage: python -m tests.golden.stage_sources [--unreleased]", file=sys.stderr)
        return 2
    now = of_today()
    stale = unsaid(json.loads(golden.read_text("utf-8")), now) if golden.exists() else []
    if stale and not arguments:
        print(f"changed without a new CODE_VERSION, nothing written: {', '.join(stale)}", file=sys.stderr)
        return 1
    golden.write_text(json.dumps(now, indent=2, sort_keys=True) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
