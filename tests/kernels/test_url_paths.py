"""Paths of URLs in one form."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.kernels.url_paths import url_paths
from tests.stages import naive_sites


def one(rest: str) -> str:
    return url_paths(pa.array([rest], pa.large_string()))[0].as_py()


@pytest.mark.parametrize(
    ("rest", "path"),
    [
        ("", "/"),
        ("?q", "/?q"),
        ("#f", "/"),
        ("/a#f?q", "/a"),
        ("/%7Eann/%2f%2F", "/~ann/%2F%2F"),
        ("/%c3%9f", "/%C3%9F"),
        ("/ß b", "/%C3%9F%20b"),
        ("\\a\\b?c\\d", "/a/b?c\\d"),
        ("/100%", "/100%"),
        ("/%4", "/%4"),
        ("/%zz", "/%zz"),
        ("/a\tb\r\n", "/ab"),
        ("/%\n4\t1%4", "/A%4"),
        ("/a/../b", "/a/../b"),
    ],
)
def test_paths_have_one_form(rest, path):
    assert one(rest) == path
    assert one(path) == path


def test_null_is_empty_and_slices_are_respected():
    rests = pa.array(["/skipped", None, "/%41", "x"], pa.large_string())
    assert url_paths(rests.slice(1)).to_pylist() == ["/", "/A", "/x"]
    assert url_paths(rests.slice(0, 0)).to_pylist() == []


@given(st.lists(st.text() | st.text(st.sampled_from("%/\\?#aAfF0159é\t"), max_size=12)))
def test_paths_equal_reference(rests):
    assert url_paths(pa.array(rests, pa.large_string())).to_pylist() == [naive_sites.path(rest) for rest in rests]
