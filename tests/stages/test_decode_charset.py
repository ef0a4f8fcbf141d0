"""Charsets: what the bytes are counts more than what a page says they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.stages.decode_charset import decode, to_utf8

GERMAN, RUSSIAN = (
    "Über größere Öfen hört man süße Märchen.",
    "Жил-был кот, и звали его Том. Он любил тёплую печку и спать.",
)
JAPANESE, CHINESE = (
    "むかしむかし、あるところに猫がいました。カタカナも書けます。",
    "从前有一只猫,名叫小花。它喜欢在温暖的炉子旁睡觉。",
)
KOREAN, POLISH = "옛날 옛적에 고양이 한 마리가 살았습니다.", "Zażółć gęślą jaźń, powiedział kot."


def page(text: str, codec: str, meta: str | None = None) -> bytes:
    declared = f'<meta charset="{meta}">' if meta else ""
    return f"<html><head>{declared}</head><body><p>{text}</p></body></html>".encode(codec)


@pytest.mark.parametrize(
    ("text", "codec", "label"),
    [
        (GERMAN, "utf-8", "utf-8"),
        (GERMAN, "iso-8859-1", "ISO-8859-1"),
        ("“Öfen” – € 5", "cp1252", "iso-8859-1"),
        (RUSSIAN, "cp1251", "windows-1251"),
        (RUSSIAN, "koi8-r", "KOI8-R"),
        (JAPANESE, "shift_jis", "Shift_JIS"),
        ("①猫", "cp932", "x-sjis"),
        (JAPANESE, "euc_jp", "euc-jp"),
        (JAPANESE, "iso2022_jp", "iso-2022-jp"),
        (CHINESE, "gbk", "gb2312"),
        ("從前有一隻貓", "big5", "Big5"),
        (KOREAN, "cp949", "ks_c_5601-1987"),
        (POLISH, "iso8859-2", "latin2"),
        (POLISH, "cp1250", "windows-1250"),
    ],
)
def test_a_declaration_that_is_right_is_followed_from_header_or_meta(text, codec, label):
    for data, header in ((page(text, codec), f"text/html; charset={label}"), (page(text, codec, label), None)):
        assert text in decode(data, header, is_html=True)
    assert text in decode(page(text, codec, label), f'text/html; charset="{label}"', is_html=True)


@pytest.mark.parametrize("header", [None, "text/html", "text/html; charset=iso-8859-1", "text/html; charset=gb2312"])
@pytest.mark.parametrize("meta", [None, "windows-1252", "utf-16", "no-such-charset"])
@pytest.mark.parametrize("text", [GERMAN, RUSSIAN, JAPANESE, "plain ascii"])
def test_valid_utf8_is_utf8_whatever_the_page_says(header, meta, text):
    assert text in decode(page(text, "utf-8", meta), header, is_html=True)


@pytest.mark.parametrize(("mark", "codec"), [("\ufeff", "utf-8"), ("\ufeff", "utf-16-le"), ("\ufeff", "utf-16-be")])
def test_a_byte_order_mark_wins_and_goes(mark, codec):
    data = (mark + RUSSIAN).encode(codec)
    assert decode(data, "text/plain; charset=windows-1251", is_html=False) == RUSSIAN


def test_utf16_without_a_mark_is_believed_when_the_header_says_so():
    assert decode("plain ascii".encode("utf-16-le"), "text/html; charset=utf-16le", is_html=True) == "plain ascii"


@pytest.mark.parametrize("header", ["text/html; charset=utf-8", None])
def test_latin_1_that_claims_utf8_is_read_as_latin_1(header):
    assert GERMAN in decode(page(GERMAN, "iso-8859-1", "utf-8"), header, is_html=True)


def test_the_header_comes_before_the_meta_tag():
    assert RUSSIAN in decode(page(RUSSIAN, "cp1251", "iso-8859-1"), "text/html; charset=windows-1251", is_html=True)


def test_a_charset_in_the_text_of_a_plain_file_declares_nothing():
    assert decode('<meta charset="koi8-r"> é'.encode("cp1252"), None, is_html=False).startswith("<meta")


@pytest.mark.parametrize(
    ("text", "codec"), [(RUSSIAN * 3, "cp1251"), (JAPANESE * 3, "shift_jis"), (JAPANESE * 3, "euc_jp")]
)
def test_without_any_declaration_the_bytes_are_looked_at(text, codec):
    assert text in decode(page(text, codec), None, is_html=True)


def test_one_bad_byte_in_a_long_page_costs_one_character():
    data = page(GERMAN * 20, "utf-8").replace("Ö".encode(), b"\xd6", 1)
    found = decode(data, "text/html; charset=utf-8", is_html=True)
    assert found.count("\ufffd") == 1
    assert found.count("süße") == 20


@given(st.binary(max_size=200), st.text(max_size=20) | st.none(), st.booleans())
def test_any_bytes_give_text_that_can_be_written_as_utf8(data, header, is_html):
    decode(data, header and f"text/html; charset={header}", is_html=is_html).encode("utf-8")


@given(
    st.builds(
        lambda start, text, end: start + text.encode("utf-8", "surrogatepass") + end,
        st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"<meta charset=utf-16>", b"<meta charset=iso-2022-jp>"]),
        st.text(st.characters(categories=["L", "Cs", "Cc", "So"]), max_size=20),
        st.sampled_from([b"", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x1b$B"]),
    ),
    st.sampled_from([None, "utf-8", "utf-16le", "iso-2022-jp", "gbk"]),
    st.booleans(),
)
def test_bytes_in_utf8_are_those_of_the_text(data, header, is_html):
    content_type = header and f"text/html; charset={header}"
    text = decode(data, content_type, is_html=is_html)
    assert to_utf8(data, content_type, is_html=is_html) == text.encode("utf-8")


def test_what_is_utf8_already_is_not_copied():
    data = page(JAPANESE, "utf-8", "shift_jis")
    assert to_utf8(data, "text/html; charset=shift_jis", is_html=True) is data


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=100))
def test_utf8_comes_back_unchanged(text):
    assert decode(text.encode(), None, is_html=False) == text.removeprefix("\ufeff")


SLOW_TO_GIVE_UP = {
    "blanks after the header's sign": (b"\xe9", "text/html; charset=" + " " * 2_000_000),
    "a header of one word over and over": (b"\xe9", "charset=" * 250_000),
    "meta tags that never end, then blanks": (b"<meta" * 270 + b"charset=" + b" " * 3_000 + b"\xe9", None),
    "meta tags that never end": (b"<meta charset " * 300 + b"\xe9", None),
}


@pytest.mark.parametrize("name", SLOW_TO_GIVE_UP)
def test_a_declaration_that_leads_nowhere_is_given_up_in_one_pass(name):
    """Tried shorter and shorter from every place, these took seconds to days."""
    data, header = SLOW_TO_GIVE_UP[name]
    assert decode(data, header, is_html=True).endswith("é")
