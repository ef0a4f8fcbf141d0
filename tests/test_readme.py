"""What the pages say a person can type: every command parses, every file they name is there."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from corpus_assets import cli

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "examples" / "starter" / "README.md"]


def lines(page: Path) -> list[str]:
    """Lines of the fenced blocks of shell commands."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return [line for language, block in blocks if language in ("", "bash") for line in block.splitlines()]


def spans(page: Path) -> list[str]:
    """Code within the text, which may go on in the next line."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)]


NAMED = ("corpus ledger add",)
"""Commands that the text speaks of without their arguments."""
SHOWN = [code for page in PAGES for code in (*lines(page), *spans(page))]
COMMANDS = sorted({code for code in SHOWN if code.startswith("corpus ") and "…" not in code and code not in NAMED})
MODULES = sorted({found[1] for code in SHOWN if (found := re.match(r"python -m (\S+)", code))})


def test_the_pages_show_commands_in_blocks_and_within_the_text():
    assert len(COMMANDS) >= 12
    assert "corpus config show mine.v1" in COMMANDS
    assert MODULES


@pytest.mark.parametrize("module", MODULES)
def test_every_module_of_the_pages_can_be_run(module):
    found = importlib.util.find_spec(module)
    assert found is not None
    assert found.submodule_search_locations is None or importlib.util.find_spec(f"{module}.__main__")


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_of_the_pages_is_one(line):
    cli.parser().parse_args(shlex.split(line, comments=True)[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_the_pages_leads_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


def test_the_two_commands_are_there_and_ci_runs_the_second():
    text = (ROOT / "README.md").read_text("utf-8")
    for command in ("examples/starter/run", "tests/run"):
        assert command in text
        assert (ROOT / command).stat().st_mode & 0o111
    assert "tests/run --all" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_every_check_of_the_graph_is_explained():
    text = (ROOT / "README.md").read_text("utf-8")
    names = set()
    for path in (ROOT / "corpus_assets" / "checks").glob("*.py"):
        source = path.read_text("utf-8")
        names |= set(re.findall(r"^def (\w+)\(\n?\s*context: dg.AssetCheckExecutionContext", source, re.MULTILINE))
        names |= set(re.findall(r"^(\w+) = _(?:blocking_)?check\(", source, re.MULTILINE))
    assert len(names) >= 15
    assert {name for name in names if f"`{name}`" not in text} == set()
