import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.validation import spdx
from formats.errors import ConfigError

WITH = "GPL-2.0-only WITH Classpath-exception-2.0"


@pytest.mark.parametrize(
    ("expression", "allow"),
    [
        ("MIT", ["MIT"]),
        ("mit", ["Mit"]),
        ("GPL-2.0", ["GPL-2.0-only"]),
        ("GPL-2.0+", ["GPL-2.0-or-later"]),
        ("MIT OR GPL-3.0-only", ["MIT"]),
        ("MIT AND CC0-1.0", ["CC0-1.0", "MIT"]),
        ("MIT AND (GPL-3.0-only OR CC0-1.0)", ["MIT", "CC0-1.0"]),
        ("LicenseRef-House-Rules", ["LicenseRef-House-Rules"]),
        ("gpl-2.0 with classpath-exception-2.0", [WITH]),
        ("DocumentRef-a:LicenseRef-b", ["DocumentRef-a:LicenseRef-b"]),
    ],
)
def test_an_expression_is_allowed_by_what_covers_it(expression, allow):
    assert spdx.allowed(expression, allow) is None


@pytest.mark.parametrize(
    ("expression", "allow", "missing"),
    [
        ("MIT", ["CC0-1.0"], ["MIT"]),
        ("MIT", [], ["MIT"]),
        ("MIT AND CC0-1.0", ["MIT"], ["CC0-1.0"]),
        ("GPL-3.0-only OR AGPL-3.0-only", ["MIT"], ["GPL-3.0-only", "AGPL-3.0-only"]),
        ("MIT AND (GPL-3.0-only OR ISC)", ["MIT"], ["GPL-3.0-only", "ISC"]),
        ("MIT OR (ISC AND CC0-1.0)", ["ISC"], ["MIT", "CC0-1.0"]),
        (WITH, ["GPL-2.0-only"], [WITH]),
        ("GPL-2.0-only", [WITH], ["GPL-2.0-only"]),
        ("GPL-2.0-or-later", ["GPL-2.0-only"], ["GPL-2.0-or-later"]),
        ("LicenseRef-house-rules", ["LicenseRef-House-Rules"], ["LicenseRef-house-rules"]),
    ],
)
def test_a_refusal_names_the_licences_that_are_missing(expression, allow, missing):
    refusal = spdx.allowed(expression, allow)
    assert refusal is not None
    assert list(refusal.missing) == missing
    assert all(licence in refusal.reason for licence in missing)


@pytest.mark.parametrize("name", ["LicenseRef-MIT-Discord", "LicenseRef-GPL-2.0", "LicenseRef-scancode-public-domain"])
def test_a_name_of_ones_own_is_never_another_name_of_an_spdx_id(name):
    assert spdx.normalized(name) == name
    assert spdx.allowed(name, ["MIT", "GPL-2.0-only", "CC0-1.0"]) is not None
    assert spdx.allowed(name, [name]) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "missing"),
        ("   ", "missing"),
        ("MTI", "did you mean MIT?"),
        ("CC-BY-4", "did you mean CC-BY-4.0?"),
        ("Public Domain", "name it LicenseRef-"),
        ("NOASSERTION", "nothing is known"),
        ("none", "no licence"),
        ("licenseref-x", "a name of your own is LicenseRef-"),
        ("LicenseRef-", "a name of your own is LicenseRef-"),
        ("LicenseRef-a+b", "a name of your own is LicenseRef-"),
        ("MIT OR", "not an SPDX licence expression"),
        ("MIT Apache-2.0", "not an SPDX licence expression"),
        ("(MIT", "not an SPDX licence expression"),
        ("(   )", "cannot be parsed"),
        ("( AND foo : -", "not an SPDX licence expression"),
        ("MIT WITH ISC", "not an SPDX licence expression"),
        ("Classpath-exception-2.0", "not an SPDX licence expression"),
        ("MIT " * 5000, "characters"),
        ("(" * 9000 + ")", "not an SPDX licence expression"),
    ],
)
def test_what_is_no_expression_of_known_licences_is_refused_in_words(text, words):
    with pytest.raises(ConfigError) as raised:
        spdx.check_expression(text)
    assert words in str(raised.value)
    assert len(str(raised.value)) < 600


@given(
    st.lists(
        st.sampled_from(["MIT", "AND", "OR", "WITH", "(", ")", "LLVM-exception", "LicenseRef-A", ":", "+", "-", "x"])
    )
)
def test_any_text_is_an_expression_or_a_config_error(tokens):
    text = " ".join(tokens)
    try:
        spdx.check_expression(text)
    except ConfigError:
        return
    assert spdx.normalized(spdx.normalized(text)) == spdx.normalized(text)


IDS = ["MIT", "ISC", "CC0-1.0", "LicenseRef-A", WITH]
TREES = st.recursive(
    st.sampled_from(IDS), lambda inner: st.tuples(st.sampled_from(["AND", "OR"]), inner, inner), max_leaves=8
)


def _text(tree):
    return tree if isinstance(tree, str) else f"({_text(tree[1])} {tree[0]} {_text(tree[2])})"


def _holds(tree, allow):
    if isinstance(tree, str):
        return tree in allow
    parts = [_holds(part, allow) for part in tree[1:]]
    return all(parts) if tree[0] == "AND" else any(parts)


@given(TREES, st.sets(st.sampled_from(IDS)))
def test_and_needs_all_or_needs_one(tree, allow):
    assert (spdx.allowed(_text(tree), sorted(allow)) is None) == _holds(tree, allow)


def test_a_list_of_allowed_licences_has_one_licence_an_item():
    spdx.check_allowed_item("GPL-2.0-only WITH Classpath-exception-2.0")
    with pytest.raises(ConfigError, match="list each by itself"):
        spdx.check_allowed_item("MIT OR ISC")
