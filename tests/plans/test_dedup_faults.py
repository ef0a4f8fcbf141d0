"""Documents on which other deduplication lost data or invented it, through the whole plan."""

import random
from collections import Counter

import numpy as np
import pytest

from corpus_assets.stages import verify_pairs
from formats.dedup_rules import NearRules
from formats.row_groups import row_sizes
from resources.engines import map_task, reduce_task, row_batches, runs, sorter
from tests.plans.naive_dedup import Doc, Rules
from tests.plans.test_dedup_plan import check, drawn, source, text

NEAR_COPIES = {
    "Chinese": (
        "小猫在花园里睡觉直到太阳下山然后回家吃饭洗脸再躺到窗台上听雨声直到主人吹灭了灯才闭上眼睛做起一个关于鱼的梦",
        "小猫在花园里睡觉直到太阳下山然后回家吃饭洗脸再躺到窗台上听雨声直到主人吹灭了灯才闭上眼睛做起一个关于鸟的梦",
    ),
    "Thai": (
        "แมวตัวเล็กนอนหลับอยู่ในสวนจนพระอาทิตย์ตกแล้วก็กลับบ้านไปกินข้าวล้างหน้าและนอนฟังเสียงฝนที่ริมหน้าต่าง",
        "แมวตัวเล็กนอนหลับอยู่ในสวนจนพระอาทิตย์ตกแล้วก็กลับบ้านไปกินปลาล้างหน้าและนอนฟังเสียงฝนที่ริมหน้าต่าง",
    ),
    "Arabic": (
        "نامت القطة الصغيرة في الحديقة حتى غابت الشمس ثم عادت إلى البيت لتأكل وتغسل وجهها وتستلقي على حافة النافذة "
        "تصغي إلى صوت المطر حتى أطفأ صاحبها المصباح فأغمضت عينيها وحلمت بسمكة كبيرة تسبح في النهر القديم قرب الجسر",
        "نامت القطة الصغيرة في الحديقة حتى غابت الشمس ثم عادت إلى البيت لتأكل وتغسل وجهها وتستلقي على حافة النافذة "
        "تصغي إلى صوت المطر حتى أطفأ صاحبها المصباح فأغمضت عينيها وحلمت بسمكة كبيرة تسبح في النهر القديم قرب الميناء",
    ),
}
OTHERS = {
    "Chinese": "老船长每天清晨在码头上修补渔网他说风暴来临之前海鸥会飞得很低而孩子们总是不相信他的话",
    "Thai": "ชาวประมงชราซ่อมแหอยู่บนท่าเรือทุกเช้าเขาบอกว่าก่อนพายุมานกนางนวลจะบินต่ำแต่เด็กไม่เคยเชื่อ",
    "Arabic": "يصلح الصياد العجوز شباكه كل صباح على الرصيف ويقول إن النوارس تطير منخفضة قبل العاصفة ولا يصدقه الأطفال",
}


@pytest.mark.parametrize("script", NEAR_COPIES)
def test_near_copies_without_spaces_between_words_meet_and_other_texts_stay(tmp_path, script):
    """A text without spaces was one word: its copies had nothing in common with it, or all texts had everything."""
    found = check(tmp_path / "root", [source("web", *NEAR_COPIES[script], OTHERS[script])], Rules())
    fates = Counter(row["verdict"] for row in found.documents.values())
    assert fates == {"kept": 2, "near_duplicate": 1}


def test_documents_of_signs_alone_are_no_near_copies_of_each_other(tmp_path):
    signs = ["\U0001f600\U0001f601", "\U0001f600\U0001f602", "\U0001f9f5", "!!", "…", "\u200d"]
    found = check(tmp_path / "root", [source("web", *signs)], Rules())
    assert {row["verdict"] for row in found.documents.values()} == {"kept"}
    assert found.numbers == {f"web:{k}": k for k in range(len(signs))}


def record(number: int) -> str:
    """Seven parts of boilerplate and three of its own, as generated records are."""
    own = " ".join(f"field{number}x{i} holds value{number}y{i}" for i in range(8))
    return text() + " " + own


def test_records_that_share_most_of_their_words_lose_none(tmp_path):
    """Shingles of characters and closure over all of them made one cluster of a source and kept two rows of it."""
    found = check(tmp_path / "root", [source("schemas", *map(record, range(150)), files=3)], Rules(), part_bytes=20_000)
    assert {row["verdict"] for row in found.documents.values()} == {"kept"}
    assert (found.clusters, len(set(found.numbers.values()))) == (set(), 150)


def test_a_chain_between_two_sources_ends_neither(tmp_path):
    """Each is near the next one alone; every second stays, in either source."""
    chain = [Doc(text(*range(n)), f"2026-01-0{n + 1}") for n in range(6)]
    found = check(tmp_path / "root", [source("books", *chain[::2]), source("web", *chain[1::2])], Rules())
    kept = Counter(row["source_id"] for row in found.documents.values() if row["verdict"] == "kept")
    assert kept.total() >= 3
    assert len({row["cluster"] for row in found.documents.values()}) == 1


@pytest.mark.parametrize("drop", [True, False])
def test_every_keeper_and_cluster_is_a_document_that_there_is(tmp_path, drop):
    """A mark for "none" came out as the document of that number."""
    sources = [*drawn(11, size=30), source("alone", text(3, 4, 5, say="alone"))]
    found = check(tmp_path / "root", sources, Rules(drop=drop, val_permille=300))
    there = found.documents.keys()
    for row in found.documents.values():
        assert row["cluster"] is None or row["cluster"] in there
        assert row["keeper_id"] is None or row["keeper_id"] in there
        assert (row["keeper_id"] is None) == (row["keeper_raw_part"] is None)
    assert all(0 <= number < len(found.numbers) for number in found.numbers.values())


@pytest.mark.parametrize("documents", [1, 5])
def test_many_small_sources_share_shards_that_are_full(tmp_path, documents):
    """Cut by source and bucket, most of a million files held a row or two."""
    sources = [
        source(f"s{n}", *(f"{text(say=f'say{n}')} {n} {i} " + f"own{n}x{i} " * 60 for i in range(documents)), files=3)
        for n in range(5)
    ]
    found = check(tmp_path / "root", sources, Rules(), part_bytes=2_000)
    kept = len(found.numbers)
    assert len(found.shards) == -(-kept // 7)


@pytest.mark.parametrize("num_bytes", [1, 3_000])
def test_the_bytes_of_a_batch_never_show_and_no_batch_has_more(tmp_path, monkeypatch, num_bytes):
    """With limits as low as a row: what holds for them holds for the 2 GiB that a text column may have."""
    sources, rules = drawn(9, size=25), Rules(val_permille=300, drop=False)
    first = check(tmp_path / "one", sources, rules, part_bytes=5_000)
    seen = []

    def within(batches, *_):
        for batch in batches:
            size = int(row_sizes(batch).sum())
            seen.append(size)
            assert size <= num_bytes or batch.num_rows == 1
            yield batch

    mapped, reduced = map_task.map_shard, reduce_task.by_bucket
    monkeypatch.setattr(map_task, "map_shard", lambda shard, batches, *args: mapped(shard, within(batches), *args))
    monkeypatch.setattr(reduce_task, "by_bucket", lambda batches, bucket: reduced(within(batches), bucket))
    monkeypatch.setattr(row_batches.bounded, "__defaults__", (num_bytes,))
    for module in (runs, sorter):
        monkeypatch.setattr(module, "BATCH_BYTES", num_bytes)
    monkeypatch.setattr(runs, "STORED_BATCH_BYTES", num_bytes)
    monkeypatch.setattr(verify_pairs, "_MAX_BATCH_BYTES", num_bytes)
    assert check(tmp_path / "low", sources, rules, part_bytes=5_000) == first
    assert len(seen) > 100


@pytest.mark.parametrize("percent", range(0, 101))
def test_a_threshold_of_whole_per_cents_is_a_whole_number_of_millionths(percent):
    """A float's last bit decided whether a pair at the threshold was a pair."""
    for written in (
        percent / 100,
        float(f"0.{percent:02}") if percent < 100 else 1.0,
        float(np.float64(percent) / 100),
    ):
        assert NearRules(jaccard_threshold=written).jaccard_millionths == percent * 10_000


def test_the_names_and_order_of_files_change_no_survivor(tmp_path):
    """Renamed and permuted, as a resumed download may leave them."""
    copies = [Doc(text(n % 6, say=f"say{n}"), f"2026-{1 + n // 28:02}-{1 + n % 28:02}") for n in range(30)]
    draw = random.Random(3)
    survivors = []
    for n in range(2):
        found = check(tmp_path / f"{n}", [source("web", *copies, files=1 + 3 * n)], Rules(), part_bytes=6_000)
        texts = {f"web:{k}": doc.text for k, doc in enumerate(copies)}
        survivors.append(sorted(texts[name] for name in found.numbers))
        draw.shuffle(copies)
    assert survivors[0] == survivors[1]
