"""How fast the decisions on text are, for the report: rows of the benches, each beside its peer in the same run."""

from collections.abc import Iterator

from corpus_assets.plans.pictures import bars_in_order
from tests.bench import bench_dedup, bench_extract, bench_signals, bench_text, measure
from tests.bench.documents import Corpus
from tests.bench.report_tables import Table

CHOSEN = {
    bench_extract: tuple(bench_extract.CASES),
    bench_text: tuple(bench_text.CASES),
    bench_signals: ("Gopher and repetition signals", "plain Python, the tests' twin", "verdicts from signals"),
    bench_dedup: ("decontamination, 13-gram", "Python: a set of tuples"),
}


def tables(corpus: Corpus) -> Iterator[Table]:
    stored = corpus.store()
    rows: list[list[object]] = []
    missed: list[str] = []
    drawn = []
    for module, names in CHOSEN.items():
        if module is bench_extract and corpus.folder is None:
            continue
        bench = module.__name__.rpartition(".")[2]
        for row in measure.run_cases(bench, {name: module.CASES[name] for name in names}, stored):
            beside = f"{row.peer_of}: ours {row.ratio:.1f} times" if row.ratio is not None else None
            rows.append([row.name, row.median, row.unit, min(row.rounds), max(row.rounds), row.figure, beside])
            drawn.append((row.name, round(row.median)))
            if row.reached is False:
                missed.append(f"{row.name} ran at {row.median:.3g} {row.unit}, the figure to reach is {row.figure:g}")
    yield Table(
        "Speed",
        "Medians of three rounds, five where they differ much, each case in a process of its own that ran once before; "
        "a row with something beside it is a peer on the same documents. CPU seconds grow by a third or so on a busy "
        "machine; ratios move less. Quality models and perplexity have their speed in their own tables.",
        ("stage", "median", "unit", "slowest", "fastest", "to reach", "beside"),
        rows,
        missed,
        (bars_in_order("Median a CPU second", drawn),),
    )
