"""The n-gram index: from stored documents to its parts on disk, and what it takes there a byte of text.

A plain set of Python's hashes of word tuples stands for what a script does, without places and without a file.
"""

import shutil
from collections.abc import Callable, Iterator

import pyarrow as pa

from corpus_assets.kernels.ngram_places import ngram_places
from corpus_assets.plans import ngram_index as plan
from formats import ngram_index
from formats.dataset import Dataset, write_shard
from resources.engines.contract import Dest, Task
from resources.engines.local import LocalEngine
from tests.bench.documents import Corpus, megabytes
from tests.bench.measure import Case, Prepared, Quality
from tests.kernels import reference

BENCH = "bench_ngrams"
NGRAM, NUM_PARTS = 13, 2
STAGE = "corpus_assets.stages.index_ngrams"
MIB = 1024 * 1024
DOCUMENTS = pa.schema([("id", pa.large_string()), ("text", pa.large_string())])


def documents(corpus: Corpus) -> Dataset:
    """The slice as one stored shard with ids."""
    text = corpus.text()
    ids = pa.array([f"web:{k}" for k in range(len(text))], pa.large_string())
    batch = pa.RecordBatch.from_arrays([ids, text], schema=DOCUMENTS)
    path = corpus.scratch / "documents" / "0.parquet"
    return Dataset(DOCUMENTS, (write_shard(0, path, [batch], DOCUMENTS, row_group_bytes=32 * MIB),))


def index(corpus: Corpus, source: Dataset, form: str, rate: int) -> Dataset:
    """The two steps of `plans.ngram_index`."""
    folder = corpus.scratch / f"{form}-{rate}"
    shutil.rmtree(folder, ignore_errors=True)
    engine = LocalEngine(scratch=corpus.scratch / "spills", workers=1, memory_bytes=1024 * MIB)
    first, columns, keys = plan.STEPS[form]
    task = Task(f"{STAGE}:{first}", {"ngram": NGRAM, "rate": rate, "num_parts": NUM_PARTS})
    ngrams = engine.map_batches(source, task, Dest(folder / "steps", columns))
    dest = Dest(folder, ngram_index.SCHEMAS[form], writer="formats.ngram_index:write_part")
    return engine.sort_reduce(ngrams, Task(f"{STAGE}:as_{form}"), dest, bucket="part", keys=keys)


def built(form: str, rate: int) -> Callable[[Corpus], Prepared]:
    def prepare(corpus: Corpus) -> Prepared:
        source = documents(corpus)
        index(corpus, source, form, rate)
        return Prepared(lambda: index(corpus, source, form, rate), megabytes(corpus.text()))

    return prepare


def places(rate: int) -> Callable[[Corpus], Prepared]:
    def prepare(corpus: Corpus) -> Prepared:
        text = corpus.text()
        ngram_places(text[:2], [NGRAM], rate=rate)
        return Prepared(lambda: ngram_places(text, [NGRAM], rate=rate), megabytes(text))

    return prepare


def looked_for(corpus: Corpus) -> Prepared:
    """As `corpus contamination --from corpus`: five lengths, the n-grams of a hundredth of the documents."""
    text, widths = corpus.text(), [9, 10, 11, 12, NGRAM]
    wanted = ngram_places(text.take(pa.array(range(0, len(text), 100))), [NGRAM]).hash
    ngram_places(text[:2], widths, keys=wanted)
    return Prepared(lambda: ngram_places(text, widths, keys=wanted), megabytes(text))


def plain(corpus: Corpus) -> Prepared:
    texts = corpus.texts(corpus.sizes.plain)

    def work() -> set[int]:
        found = set()
        for text in texts:
            words = reference.words(text)
            found.update(hash(tuple(words[i : i + NGRAM])) for i in range(len(words) - NGRAM + 1))
        return found

    return Prepared(work, megabytes(texts))


CASES = {
    "n-grams with places, 1 in 16": Case(places(16)),
    "n-grams with places, all": Case(places(1)),
    "n-grams looked for, five lengths": Case(looked_for),
    "index of postings, 1 in 16, on disk": Case(built("postings", 16)),
    "index as a filter of all n-grams, on disk": Case(built("filter", 1)),
    "Python: a set of hashed tuples": Case(plain, peer_of="index as a filter of all n-grams, on disk"),
}


def quality(corpus: Corpus) -> Iterator[Quality]:
    source, num_bytes = documents(corpus), megabytes(corpus.text()) * 1e6
    for form, rate in (("postings", 16), ("postings", 1), ("filter", 1)):
        made = index(corpus, source, form, rate)
        note = f"{made.num_bytes:,} bytes, {made.notes['distinct']:,} different n-grams"
        name = f"index on disk a byte of text, {form}, rate {rate}"
        yield Quality(BENCH, name, made.num_bytes / num_bytes, is_cost=True, note=note)
