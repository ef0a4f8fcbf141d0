"""From a text to its verdict: what was measured and the rules over it, on the documents that broke other filters."""

import pyarrow as pa
import pytest

from corpus_assets.stages.filter_documents import filter_documents
from corpus_assets.stages.measure_documents import measure_documents
from corpus_assets.stages.normalize_documents import normalize_documents
from formats.reasons import FILTERS, RULE_BIT
from formats.stage_tables import RAW

BLOCK = (
    "The ferry leaves the old harbour at six every morning except in January, when the river is frozen and the captain "
    "repairs nets by the stove. Whoever wants to cross then has to walk over the ice with a lantern and a long pole, "
    "and pay the same fare to the guide, who has known every crack of it since childhood.\n"
)
OTHERS = [
    "A second guide waits on the far bank with tea and dry socks, and he asks nobody for money before they are warm.",
    "In spring the first boat is greeted with bells, since it brings letters that have been under way for ten weeks.",
    "Children who were born in winter are rowed around the island once, so that the river may learn their names too.",
]
NO_DUPLICATES = pa.table({"k": pa.array([], pa.int64()), "keeper_k": pa.array([], pa.int64())})


def verdicts(*texts, profile="prose", thresholds=None):
    """(verdict, every rule that failed) of each text."""
    common = {"url": "u", "fetched_at": "2026-01-01T00:00:00Z", "license_spdx": "MIT"}
    raw = [{"raw_line": i, "text": text, **common} for i, text in enumerate(texts)]
    documents = normalize_documents(pa.RecordBatch.from_pylist(raw, RAW), source_id="s", raw_part=0, first_k=0)
    found = filter_documents(
        measure_documents(documents), NO_DUPLICATES, profile=profile, thresholds=thresholds or {}, filters=FILTERS,
        lang_allow=(),
    )  # fmt: skip
    return [
        (row["verdict"], {reason for reason, bit in RULE_BIT.items() if row["rules_failed"] & bit})
        for row in found.to_pylist()
    ]


WORDLESS = [
    "",
    " ",
    " \n\t\u3000 ",
    "!!! ??? ...",
    "\U0001f600",
    "\0",
    "\u0301",
    "\u202e\u202c",
    "-" * 500,
    "\U0001f600" * 500,
]


@pytest.mark.parametrize("profile", ["prose", "code", "short"])
def test_documents_without_words_have_a_verdict_like_any_other(profile):
    """A mean over no words was a division by zero."""
    found = dict(zip(WORDLESS, verdicts(*WORDLESS, profile=profile), strict=True))
    assert found[""][0] == "empty_text"
    for text, (verdict, failed) in found.items():
        assert verdict in failed or (verdict == "kept" and not failed), text
    if profile == "prose":
        assert "kept" not in {verdict for verdict, _ in found.values()}


@pytest.mark.parametrize("times", [3, 10])
def test_one_block_many_times_in_one_document_is_repetition(times):
    """Dedup of documents cannot see copies within one."""
    once, repeated = verdicts(BLOCK + "\n".join(OTHERS), BLOCK * times)
    assert once == ("kept", set())
    assert repeated[0] == "too_many_duplicate_lines"
    assert {"too_many_duplicate_line_characters", "too_many_duplicate_10grams"} <= repeated[1]


def test_a_repeated_block_on_one_line_is_seen_by_its_runs_of_words():
    (found,) = verdicts(BLOCK.replace("\n", " ") * 10)
    assert found[0].startswith("too_many_duplicate_")
    assert "too_many_duplicate_lines" not in found[1]


def test_code_may_repeat_itself():
    """The profile's rule: licence heads and tables of numbers are no fault of code; what did not apply is recorded."""
    assert verdicts(BLOCK * 10, profile="code") == [("kept", set())]


UNSPACED = {
    "Chinese": (
        "渡船每天早上六点离开老码头，只有一月除外，因为那时河面结冰，船长坐在炉子旁边修补渔网。想过河的人只好提着灯笼、"
        "拄着长杆从冰上走过去，还要付给向导同样的船钱。向导从小就认得冰上的每一道裂缝，也知道哪里的冰最薄。春天第一班船"
        "到来的时候，岸边的人们敲钟迎接，船上带来了走了十个星期的信。"
    ),
    "Japanese": (
        "渡し船は毎朝六時に古い港を出るが、一月だけは川が凍るので、船長は炉のそばで網を直している。渡りたい人は提灯と長い"
        "棒を持って氷の上を歩き、子どもの頃から割れ目を知る案内人に同じ料金を払う。春になると最初の船は鐘で迎えられ、"
        "十週間かかった手紙を運んでくる。"
    ),
    "Thai": (
        "เรือข้ามฟากออกจากท่าเก่าทุกเช้าเวลาหกโมง ยกเว้นเดือนมกราคมที่แม่น้ำเป็นน้ำแข็ง กัปตันจึงนั่งซ่อมแหอยู่ข้างเตา "
        "ใครอยากข้ามต้องเดินบนน้ำแข็งพร้อมโคมไฟและไม้ยาว แล้วจ่ายเงินเท่ากันให้คนนำทางซึ่งรู้จักรอยแตกทุกรอยมาตั้งแต่เด็ก"
    ),
}


@pytest.mark.parametrize("language", UNSPACED)
def test_a_text_without_spaces_is_many_words(language):
    """Taken for one word it was too short a document of too long a word."""
    once, repeated = verdicts(UNSPACED[language], UNSPACED[language] * 8)
    assert once == ("kept", set())
    assert repeated[0] != "kept"


def test_a_text_from_right_to_left_is_judged_as_any_other():
    text = (
        "تغادر العبارة الميناء القديم في السادسة من كل صباح إلا في يناير حين يتجمد النهر ويجلس القبطان قرب الموقد يصلح "
        "شباكه. ومن أراد العبور مشى فوق الجليد ومعه فانوس وعصا طويلة ودفع الأجرة نفسها للدليل الذي يعرف كل شق فيه منذ "
        "طفولته. وفي الربيع يستقبل الناس أول قارب بقرع الأجراس لأنه يحمل رسائل بقيت في الطريق عشرة أسابيع كاملة ثم "
        "يجلسون معا على الشاطئ يقرؤونها بصوت عال."
    )
    assert verdicts(text, f"\u202b{text}\u202c") == [("kept", set()), ("kept", set())]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", ""])
def test_line_ends_change_no_verdict_but_of_rules_about_lines(end):
    text = f"{end or ' '}".join([BLOCK.strip(), *OTHERS])
    assert verdicts(text) == [("kept", set())]
