"""Kernels that were compiled before: a process that only loads them pays for none of what compiling takes."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numba
import pyarrow as pa
import pytest

from corpus_assets import kernels
from corpus_assets.kernels.text_signals import text_signals

ROOT = Path(kernels.__file__).parents[2]
pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled or stored")

PROGRAM = """
import sys
import pyarrow as pa
texts = pa.array(["One red ball, 2 blue ones.", None, "Ω"], pa.large_string())
"""
LETTERS = """
from corpus_assets.kernels.letters import letter_count
print(letter_count(texts).tolist(), "numba.np.linalg" in sys.modules)
"""
WORDS = """
from corpus_assets.kernels.words import word_count
print(word_count(texts).to_pylist(), "numba.np.linalg" in sys.modules)
"""
SIGNALS = """
from corpus_assets.kernels.text_signals import text_signals
print(text_signals(texts)["n_words"].to_pylist(), "numba.np.arraymath" in sys.modules)
"""


def lines_of(program: str, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + program],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_a_stored_kernel_is_loaded_without_the_compiler_and_another_is_compiled_after_it(tmp_path):
    own = {"CORPUS_KERNEL_CACHE": str(tmp_path / "kernels")}
    assert lines_of(LETTERS, **own) == ["[18, 0, 1] True"]
    assert lines_of(LETTERS + WORDS, **own) == ["[18, 0, 1] False", "[6, 0, 1] True"]
    assert lines_of(LETTERS + WORDS, **own) == ["[18, 0, 1] False", "[6, 0, 1] False"]


def test_the_text_signals_load_no_mathematics_that_looks_for_scipy():
    text_signals(pa.array(["stored from now on"], pa.large_string()))
    assert lines_of(SIGNALS) == ["[6, 0, 1] False"]


ARRAYS_AND_TYPES = {"empty", "full", "zeros", "bool_", "inf"}
"""What kernels take of numpy beside its number types. Its functions over arrays would come with all of numba's, and
those ask for scipy.linalg: a tenth of a second of every process that loads the kernel.
"""


def compiled_functions(path: Path) -> list[ast.FunctionDef]:
    functions = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)]
    return [one for one in functions if any("njit" in ast.unparse(decorator) for decorator in one.decorator_list)]


@pytest.mark.parametrize("path", sorted(Path(kernels.__file__).parent.glob("*.py")), ids=lambda path: path.stem)
def test_kernels_take_arrays_and_types_of_numpy_and_no_functions(path):
    used = {
        node.attr
        for function in compiled_functions(path)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np"
    }
    assert not {name for name in used - ARRAYS_AND_TYPES if not name.startswith(("int", "uint", "float"))}
