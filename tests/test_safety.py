"""What the product never does with what it reads: unpickle it, run it, hand it to a shell. Held by the syntax trees."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata

import pytest

from tests.test_house import FIRST_PARTY, MODULES, ROOT, imports

UNPICKLING = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "dbm"}
MAY_PICKLE = {
    "resources.guarded.process": "writes only: the arguments for its own child, into that child's pipe",
    "resources.guarded.child": "reads what its parent wrote into its pipe; what it answers is JSON",
    "resources.engines.pool": "asks of an error made here whether it crosses a process border",
    "resources.engines.spark": "tasks and answers of this job's own executors, over Spark's own connections",
    "resources.engines.spark_tasks": "tasks and answers of this job's own driver, over Spark's own connections",
    "resources.submitted": "the error of the job that it submitted itself, from that job's own messages",
    "corpus_assets.stage_job": "writes only: its error for the process that submitted it",
}
"""Between processes of one run, never of a file. numba's cache of kernels is pickled, too: see test_cache_folder."""
UNSAFE_CALLS = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "os.spawnl", "subprocess.getoutput",
    "subprocess.getstatusoutput", "tempfile.mktemp", "yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.full_load",
    "yaml.unsafe_load_all", "yaml.full_load_all", "np.fromfile", "xml.etree.ElementTree.parse", "shutil.unpack_archive",
    "pd.read_pickle", "torch.load",
}  # fmt: skip
UNSAFE_NAMES = {"UnsafeLoader", "FullLoader", "Loader", "extractall", "extract"}
"""Attributes: loaders of YAML that build objects, and archives unpacked to paths of their own choice."""


def trees() -> Iterator[tuple[str, ast.Module]]:
    for name, path in MODULES.items():
        yield name, ast.parse(path.read_text("utf-8"))


TREES = dict(trees())


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """(dotted name as written, the call) of every call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def unsafe(tree: ast.AST) -> list[str]:
    """Every unsafe call or name in a file, with its line."""
    found = []
    for name, call in calls(tree):
        if name in UNSAFE_CALLS:
            found.append(f"line {call.lineno}: {name}")
        for keyword in call.keywords:
            is_false = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
            if keyword.arg in ("shell", "allow_pickle", "trust_remote_code") and not is_false:
                found.append(f"line {call.lineno}: {name}({keyword.arg}=…)")
        if name in ("np.load", "numpy.load") and not any(one.arg == "allow_pickle" for one in call.keywords):
            found.append(f"line {call.lineno}: {name} without allow_pickle=False")
    for node in ast.walk(tree):
        is_section = ast.unparse(node).endswith("config.extract")  # of a version's config
        if isinstance(node, ast.Attribute) and node.attr in UNSAFE_NAMES and not is_section:
            found.append(f"line {node.lineno}: .{node.attr}")
    return found


@pytest.mark.parametrize("name", MODULES)
def test_no_file_is_unpickled_run_or_unpacked(name):
    assert not unsafe(TREES[name]), name


def test_pickles_are_read_only_between_processes_of_one_run():
    found = {name for name in MODULES if {i.split(".")[0] for i in imports(MODULES[name])} & UNPICKLING}
    assert found == set(MAY_PICKLE), "a new one needs its reason here; one that is gone leaves the list"


@pytest.mark.parametrize("name", [name for name, reason in MAY_PICKLE.items() if reason.startswith("writes only")])
def test_who_only_writes_pickles_reads_none(name):
    assert not {called for called, _ in calls(TREES[name])} & {"pickle.load", "pickle.loads", "pickle.Unpickler"}


@pytest.mark.parametrize(
    "code",
    [
        "eval(x)", "exec(x)", "os.system(x)", "tempfile.mktemp()", "yaml.load(x, Loader=yaml.Loader)", "np.load(x)",
        "np.load(x, allow_pickle=True)", "subprocess.run(x, shell=True)", "subprocess.run(x, shell=flag)",
        "archive.extractall(x)", "yaml.parse(x, Loader=yaml.FullLoader)",
    ],
)  # fmt: skip
def test_what_is_unsafe_is_seen(code):
    assert unsafe(ast.parse(code))


def plain(name: str) -> str:
    """A distribution's name in the one form that all of its spellings have."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[><=~!; ]", name)[0]).lower()


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = {plain(line) for lines in PROJECT["optional-dependencies"].values() for line in lines}


def test_every_dependency_and_every_extra_is_pinned():
    lines = (ROOT / "corpus_assets" / "constraints.txt").read_text("utf-8").splitlines()
    pinned = {plain(line) for line in lines if "==" in line}
    of_the_same_day = {"dagster-postgres"}  # each of its releases wants another Dagster than ours; CI names its version
    assert {plain(line) for line in PROJECT["dependencies"]} | EXTRAS - {PROJECT["name"]} - of_the_same_day <= pinned
    assert not [line for line in lines if line and not line.startswith("#") and not re.fullmatch(r"\S+==\S+", line)]


def test_the_test_command_installs_every_extra():
    """Types and tests import them; a module that only a developer's machine has is missed in CI alone."""
    not_installed = {
        "fuzz",  # atheris: for long runs only, tests go without
        "torch",  # 800 MB for one file; its tests run in CI, and where it is installed, and say so where not
        "peers",  # what reads exports, on top of torch; only CI installs it
        "trafilatura",  # likewise, with `peers`; tests of the quality mode say so where it is missing
        "postgres",  # CI installs it beside our Dagster, which it does not want
    }
    extras = set(PROJECT["optional-dependencies"]) - {"dev"} - not_installed
    own = [line for line in PROJECT["optional-dependencies"]["dev"] if plain(line) == PROJECT["name"]]
    assert {name for line in own for name in re.search(r"\[(.*)\]", line)[1].split(",")} == extras


PART_OF = {"dagster_pipes": "dagster", "pydantic": "dagster", "sqlalchemy": "dagster", "py4j": "pyspark"}
"""Libraries that are met as another's interface (classes of its configs, its storage, its errors): that one declares
them, and which version they have is its choice.
"""


def test_every_library_that_is_imported_is_declared():
    """By the distribution that has it, so that no dependency of a dependency is used by accident."""
    extras = [line for name, lines in PROJECT["optional-dependencies"].items() if name != "dev" for line in lines]
    declared = {plain(line) for line in [*PROJECT["dependencies"], *extras]}
    distributions = metadata.packages_distributions()
    unknown: dict[str, list[str]] = {}
    for name, path in MODULES.items():
        for top in {i.split(".")[0] for i in imports(path)} - set(FIRST_PARTY) - set(sys.stdlib_module_names):
            library = PART_OF.get(top, top)
            if not {plain(one) for one in distributions.get(library, [library])} & declared:
                unknown.setdefault(top, []).append(name)
    assert not unknown
