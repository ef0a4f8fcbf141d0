"""Main text of pages: the same text every time, and no page that takes it down."""

import gzip
import json
import tarfile
from concurrent.futures import ThreadPoolExecutor

import pytest
from resiliparse.parse.html.exception import HTMLParserException

from corpus_assets.stages import main_text
from corpus_assets.stages.extract_text import Extracted, ExtractRules, Page, extract, extract_plain, prepare
from tests.shared_data import DATA, needs_shared_data

PARAGRAPHS = [
    "Tom has a cat that sleeps on the warm stove all day long, and nobody minds.",
    "In the evening she walks along the wall, looks at the moon, and comes home late.",
    "Mia, who lives next door, brings her a bowl of milk every Sunday after lunch.",
]
STEPS = ["Put one bowl of milk on the wall, and wait.", "Sit still until she comes, which may take an hour."]
PAGE = f"""<!doctype html><html><head><title>The cat</title><script>var a = "<div>not text</div>";</script></head>
<body><nav><a href="/">Home</a> <a href="/tales">Tales</a></nav>
<main><article><h1>The cat on the stove</h1>{"".join(f"<p>{p}</p>" for p in PARAGRAPHS)}
<ol>{"".join(f"<li>{p}</li>" for p in STEPS)}</ol><pre>if cat:
    purr()</pre></article></main>
<footer>Imprint and privacy</footer></body></html>""".encode()


def nested(tag: str, depth: int, text: str = "Tom naps.") -> bytes:
    return f"<html><body>{f'<{tag}>' * depth}{text}{f'</{tag}>' * depth}</body></html>".encode()


def test_the_main_text_comes_out_block_by_block_without_the_menu():
    text = extract(PAGE).text
    lines = [line.strip() for line in text.splitlines()]
    assert [line for line in lines if line in PARAGRAPHS] == PARAGRAPHS
    assert [line for line in lines if line in STEPS] == STEPS
    assert "\n    purr()" in text
    for gone in ("Home", "Imprint", "not text", "var a", "•"):
        assert gone not in text


def test_ten_extractions_in_four_threads_give_one_text():
    with ThreadPoolExecutor(4) as pool:
        assert len({found.text for found in pool.map(extract, [PAGE, nested("b", 50)] * 20)}) == 2


@pytest.mark.parametrize("around", ["{}", "<article>{}</article>", "<main><article>{}</article></main>"])
def test_text_in_nested_articles_comes_once(around):
    inner = around.format(f"{PARAGRAPHS[0]}<br>{PARAGRAPHS[1]}")
    page = f"<html><body><article><main>{inner}</main></article></body></html>".encode()
    text = extract(page).text
    assert [text.count(p) for p in PARAGRAPHS[:2]] == [1, 1]


@pytest.mark.parametrize("charset", ["iso-8859-1", "utf-8", "utf-16"])
def test_a_page_is_decoded_before_it_is_read(charset):
    page = "<html><body><article><p>Über größere Öfen hört man süße Märchen.</p></article></body></html>"
    assert (
        extract(page.encode(charset), f"text/html; charset={charset}").text
        == "Über größere Öfen hört man süße Märchen."
    )


@pytest.mark.parametrize(
    "page",
    [b"", b"   ", b"<html></html>", b"<html><body><script>f()</script></body></html>", b"<svg><template>", b"\0\0"],
)
def test_a_page_without_text_says_so(page):
    assert extract(page) == Extracted("", "no_main_text")


@pytest.mark.parametrize("tag", ["div", "span", "b", "table", "ul", "svg", "unknown"])
def test_a_page_that_nests_too_deep_gives_all_its_text(tag):
    deep, rules = nested(tag, 3_000), ExtractRules(max_tags=1_000_000)
    assert extract(deep, None, rules).text.strip() in ("Tom naps.", "")
    menu = nested("div", 3_000, '<nav class="menu">Home</nav>Tom naps.')
    assert "Home" in extract(menu, None, rules).text


def test_fifty_thousand_levels_come_to_an_end():
    assert extract(nested("div", 50_000)) == Extracted("Tom naps.")
    assert extract(b"<html><body>" + b"<a>Tom " * 199_000).text.startswith("Tom Tom")


def test_pages_that_are_too_large_are_refused():
    assert extract(b"<p>" + b"x" * 10_000_000).reason == "page_too_large"
    assert extract(nested("div", 100_001)).reason == "page_too_large"
    assert extract(PAGE, None, ExtractRules(max_page_bytes=len(PAGE))).reason is None
    assert extract(PAGE, None, ExtractRules(max_page_bytes=len(PAGE) - 1)).reason == "page_too_large"


@pytest.mark.parametrize(
    ("make", "limit"),
    [
        (lambda n: b"<p " + b" ".join(b"a%d=1" % i for i in range(n)) + b">Tom naps.", "max_attributes"),
        (lambda n: b"".join(b"<body a%d=1>" % i for i in range(n)) + b"Tom naps.", "max_attributes"),
        (lambda n: b"<p>Tom naps.</p><select>" + b"<option>x" * n, "max_options"),
    ],
)
def test_what_takes_the_parser_long_is_counted_and_refused(make, limit):
    """Its time grows with the square of these: hundreds of thousands, which the other limits allow, take minutes."""
    most = getattr(ExtractRules(), limit)
    assert "Tom naps." in extract(make(100)).text
    assert isinstance(prepare(make(most)), Page)
    assert prepare(make(most + 1)) == Extracted("", "page_too_large")


def test_a_page_whose_tags_lie_deep_on_the_whole_gives_all_its_text():
    page = nested("div", 1_500, '<nav class="menu">Home</nav>' + "<p>Tom naps.</p>" * 7_000)
    assert prepare(page, None, ExtractRules()).main_content is False
    assert prepare(page, None, ExtractRules(max_depths=30_000_000)).main_content is True
    assert "Home" in extract(page).text


def test_a_parser_short_of_memory_does_not_call_the_page_broken(monkeypatch):
    def give_up(words: str):
        def extract_plain_text(*_args, **_settings):
            raise HTMLParserException(words)

        return extract_plain_text

    monkeypatch.setattr(main_text, "extract_plain_text", give_up("Failed to parse document (Error 2)."))
    with pytest.raises(MemoryError, match="Error 2"):
        extract(PAGE)
    monkeypatch.setattr(main_text, "extract_plain_text", give_up("Failed to parse document (Error 1)."))
    assert extract(PAGE) == Extracted("", "broken_html")


TALES = {
    "iso-8859-1": ("iso-8859-1", "Über größere Öfen hört man süße Märchen, sagte Tom."),
    "windows-1251": ("cp1251", "Жил-был кот, и звали его Том. Он любил тёплую печку и спать."),
    "Shift_JIS": ("shift_jis", "むかしむかし、あるところに猫がいました。カタカナも書けます。"),
    "GBK": ("gbk", "从前有一只猫，名叫小花。它喜欢在温暖的炉子旁睡觉。"),
}


@pytest.mark.parametrize("charset", TALES)
@pytest.mark.parametrize(
    ("header", "meta"),
    [
        ("{}", None),
        (None, "{}"),
        ("{}", "utf-8"),
        ("{}", "iso-8859-1"),
        ("utf-8", "{}"),
        ("no-such-charset", "{}"),
        ("", "{}"),
    ],
)
def test_a_page_whose_charsets_disagree_is_read_by_the_right_one(charset, header, meta):
    """The header before the meta tag, and neither where the bytes cannot be that."""
    codec, text = TALES[charset]
    declared = f'<meta charset="{meta.format(charset)}">' if meta else ""
    page = f"<html><head>{declared}</head><body><article><p>{text}</p></article></body></html>".encode(codec)
    content_type = None if header is None else f"text/html; charset={header.format(charset)}"
    assert extract(page, content_type) == Extracted(text)


@pytest.mark.parametrize("charset", TALES)
@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_counts_more_than_header_and_meta(charset, codec):
    _, text = TALES[charset]
    page = f'<html><head><meta charset="{charset}"></head><body><article><p>{text}</p></article></body></html>'
    assert extract(page.encode(codec), f"text/html; charset={charset}") == Extracted(text)


def test_a_long_table_with_open_cells_is_not_taken_for_a_deep_one():
    rows = "".join(f"<tr><td>row {i}<td>{PARAGRAPHS[i % 3]}" for i in range(3_000))
    page = f"<html><body><nav>Home</nav><main><table>{rows}</table></main></body></html>".encode()
    found = extract(page).text
    assert "row 2999" in found
    assert "Home" not in found


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"# Cat\n\n* naps\r\n", Extracted("# Cat\n\n* naps\r\n")),
        (b"\xef\xbb\xbfTom", Extracted("Tom")),
        ("Öfen".encode("cp1252"), Extracted("Öfen")),
        (b"a\0b", Extracted("a\0b")),
        (b"The miller\0slept.\0" * 50, Extracted("The miller\0slept.\0" * 50)),
        ("The miller slept by the river.".encode("utf-16-le"), Extracted("", "binary_content")),
        ("The miller slept by the river.".encode("utf-32-be"), Extracted("", "binary_content")),
        ("The miller slept.".encode("utf-16"), Extracted("The miller slept.")),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xfe", Extracted("", "binary_content")),
        (b"", Extracted("")),
    ],
)
def test_plain_text_stays_as_it_is(data, expected):
    assert extract_plain(data) == expected


@needs_shared_data
def test_real_pages_give_their_article():
    """Enough words of the article on nearly every page; how good the text is, is measured in the benchmark."""
    truth = json.loads((DATA / "web-html-aeb" / "ground-truth.json").read_bytes())
    good = 0
    with tarfile.open(DATA / "web-html-aeb" / "html.tar") as archive:
        for member in archive:
            key = member.name.rsplit("/", 1)[-1].split(".")[0]
            found = set(extract(gzip.decompress(archive.extractfile(member).read())).text.split())
            article = set(truth[key]["articleBody"].split())
            good += len(article & found) >= 0.8 * len(article)
    assert good >= 0.95 * len(truth)
