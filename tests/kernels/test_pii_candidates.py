"""The pass over the bytes leaves out no text in which a pattern finds something."""

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.pii_candidates import SECRET_ENDINGS, Needs, candidates
from corpus_assets.stages import pii_patterns
from corpus_assets.stages.pii_patterns import PATTERNS, compiled

COMPILED = {pattern.name: compiled(pattern.regex) for pattern in PATTERNS}
PIECES = [
    "-----BEGIN RSA PRIVATE KEY-----", "-----", "BEGIN", "://", "a:b@c", "password", "api_key", "Secret", "token=",
    "PWD:",
    '"', "'", "\t", " = ", ": ", "ann@example.org", "@", ".", "é", "ß@ü.ö", "fe80::1", "::", ":", "a", "f0", "9", "12",
    "1.2.3.4", "10.0.0.1", "+49 (0)30", "555-", "٣", "１２３", "（", "－", "\u00a0", "\u2011", "\u202f", "/", "(", ")",
    "&#64;", "&#x0040;", "&commat;", "&", ";", "Private-Lines: 3", "-", "x", "aB3+/_-9" * 4, "a" * 31,
]  # fmt: skip
texts = st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@settings(max_examples=1500)
@given(texts)
@example("passwd1'   =")
@example("1\u2011(\u2011" * 8)
@example("0.0.0.0")
@example("a&#00064;b.c")
@example("a&#x00040;b.c")
@example("a://b://" + "u" * 128 + ":" + "p" * 256 + "@")
def test_a_text_with_a_match_has_what_its_pattern_needs(text):
    data = text.encode()
    needs = Needs(int(candidates(pa.array([text], pa.large_string()))[0]))
    for pattern in PATTERNS:
        if pattern.needs and COMPILED[pattern.name].search(data):
            assert pattern.needs in needs, pattern.name


@pytest.mark.parametrize(("text", "needs"), [
    ("", 0), ("Nothing to see here.", 0), ("555 12", 0), ("555-123-4", Needs.DIGITS), ("1.2.3.4", Needs.IPV4),
    ("v1.2.3", 0), ("1..2..3..4", 0), ("at 12:30", 0), ("fe80::1", Needs.IPV6), ("a:b:", Needs.IPV6), ("a: b", 0),
    ("me@home", 0), ("me@home.org", Needs.EMAIL), ("@home.org", 0), ("https://x", 0),
    ("me&#64;home.org", Needs.EMAIL), ("me&#00064;home.org", Needs.EMAIL), ("me&commat;home.org", Needs.EMAIL),
    ("&#64;home.org", 0), ("me&#64;home", 0), ("me&#0000000064;home.org", Needs.DIGITS), ("me &amp; b", 0),
    ("Private-Lines: 3", Needs.NAMED),
    ("https://x@", Needs.LOGIN), ("https:/x@", 0), ("@https://x", 0), ("://" + "." * 385 + "@", Needs.LOGIN),
    ("://" + "." * 386 + "@", 0), ("a://b://c@", Needs.LOGIN),
    ("５", Needs.WIDE_DIGIT),
    ("password : x", Needs.NAMED), ("keyword: x", Needs.NAMED), ("colour: x", 0), ("-----BEGIN", Needs.BEGIN),
    ("----BEGIN", 0), ("x='" + "aB3+/_-9" * 4, Needs.RANDOM), ("x:\t " + "a" * 32, Needs.RANDOM), ("x=" + "a" * 31, 0),
    ("x = {" + "a" * 32, 0), ("1234567 ann@example.org", Needs.DIGITS | Needs.EMAIL),
])  # fmt: skip
def test_what_a_text_has(text, needs):
    assert candidates(pa.array([text], pa.large_string())).tolist() == [needs]


def test_rows_are_looked_at_alone_and_slices_and_nulls_respected():
    column = pa.array(["ann@", "example.org", None, "123", "4567", "ann@example.org"], pa.large_string())
    assert candidates(column).tolist() == [0, 0, 0, 0, 0, Needs.EMAIL]
    assert candidates(column.slice(4)).tolist() == [0, Needs.EMAIL]


def test_every_secret_s_name_has_one_of_the_endings():
    names = pii_patterns._SECRET_NAMES
    spelt = [
        "password", "passwd", "passphrase", "pwd", "secret", "secretkey", "secret-key", "token", "apikey", "api_key",
        "accesskey", "access_key", "access_key_id", "accesskeyid", "access-key-id", "auth_key", "private_key",
        "encryption_key", "client_secret", "credential", "credentials",
        "secret_value", "secretvalues", "secret_keys", "signing_key", "contrasena",
        "contraseña", "senha", "mot_de_passe", "passwort", "kennwort",
    ]  # fmt: skip
    pattern = compiled(f"^(?:{names})$")
    for name in spelt:
        assert pattern.search(name.encode())
        assert name.endswith(SECRET_ENDINGS), name
