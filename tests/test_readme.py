"""What the pages say a person can type: every command parses, every file they name is there."""

import ast
import importlib
import importlib.util
import re
import shlex
from pathlib import Path

import pytest
import yaml

from corpus_assets import cli
from corpus_assets.commands import program

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "examples" / "starter" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def lines(page: Path) -> list[str]:
    """Lines of the fenced blocks of shell commands, without the prompt of a console and what is done if one fails."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    found = [line for language, block in blocks if language in ("", "bash", "console") for line in block.splitlines()]
    return [re.split(r" \|\| | > ", line.removeprefix("$ "))[0] for line in found]


def spans(page: Path) -> list[str]:
    """Code within the text, which may go on in the next line."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)]


SHOWN = [code for page in PAGES for code in (*lines(page), *spans(page))]
COMMANDS = sorted({code for code in SHOWN if code.startswith("corpus ") and "…" not in code})
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
    words = shlex.split(line, comments=True)[1:]
    if all(re.fullmatch("[a-z]+", word) for word in words):  # the text may name a command without its arguments
        with pytest.raises(SystemExit) as ended:
            cli.parser().parse_args([*words, "--help"])
        assert ended.value.code == 0
    else:
        cli.parser().parse_args(words)


def anchors(page: Path) -> set[str]:
    """What a link may name of a page: its headings, as GitHub writes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_the_pages_leads_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text("utf-8")):
        name, _, anchor = target.partition("#")
        there = page.parent / name if name else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


def test_the_pictures_are_small_and_all_are_shown():
    pictures = list((ROOT / "docs" / "pictures").iterdir())
    assert sum(picture.stat().st_size for picture in pictures) < 600_000
    text = (ROOT / "README.md").read_text("utf-8")
    assert all(f"](docs/pictures/{picture.name})" in text for picture in pictures)


def test_every_page_is_reached_from_the_first():
    text = (ROOT / "README.md").read_text("utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert f"](docs/{page.name})" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_settings_and_programs_of_the_pages_can_be_read(page):
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE):
        if language == "yaml":
            assert isinstance(yaml.safe_load(block), dict), block
        if language == "python":
            tree = ast.parse(block)
            for node in (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)):
                module = importlib.import_module(str(node.module))
                assert all(hasattr(module, name.name) for name in node.names), ast.unparse(node)


def words_of_the_program() -> list[str]:
    """Every text in the sources; of a formatted one the parts between what is put in."""
    found = []
    for path in (path for package in program.PACKAGES for path in (ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return found


def test_every_message_of_the_page_of_errors_is_one_of_the_program():
    said = words_of_the_program()
    headings = re.findall(r"^### (.*)$", (ROOT / "docs" / "errors.md").read_text("utf-8"), re.MULTILINE)
    pieces = [
        piece.strip() for heading in headings for span in re.findall("`([^`]+)`", heading) for piece in span.split("…")
    ]
    assert len(pieces) > 15
    for piece in filter(None, pieces):
        assert any(piece in text for text in said), piece


def test_the_two_commands_are_there_and_ci_runs_the_second():
    text = (ROOT / "README.md").read_text("utf-8")
    for command in ("examples/starter/run", "tests/run"):
        assert command in text
        assert (ROOT / command).stat().st_mode & 0o111
    assert "tests/run --all" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_every_check_of_the_graph_is_explained():
    text = (ROOT / "docs" / "operate.md").read_text("utf-8")
    names = set()
    for path in (ROOT / "corpus_assets" / "checks").glob("*.py"):
        source = path.read_text("utf-8")
        names |= set(re.findall(r"^def (\w+)\(\n?\s*context: dg.AssetCheckExecutionContext", source, re.MULTILINE))
        names |= set(re.findall(r"^(\w+) = _(?:blocking_)?check\(", source, re.MULTILINE))
        names |= set(re.findall(r"\bname=\"(\w+)\"", source))
    assert len(names) >= 15
    assert {name for name in names if f"`{name}`" not in text} == set()
