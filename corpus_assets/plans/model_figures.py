"""How a trained model does on documents that it was not trained on: figures, a table, a picture, and two audits."""

from collections.abc import Mapping, Sequence
from typing import Any

from corpus_assets.plans import curves
from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.for_people import NONE, share
from corpus_assets.plans.pictures import Picture
from corpus_assets.plans.trained_models import MIDDLE, file_of, hold_to_record
from corpus_assets.validation import model_config as config_files
from formats import model_record
from formats.errors import ConfigError
from formats.layout import Layout
from formats.model_config import CLASSIFIERS
from formats.model_record import ModelRecord

_MILLION = 1_000_000


def open_record(layout: Layout, name: str) -> ModelRecord:
    """Raises ConfigError where the model was not trained, CorruptDataError for a record that is damaged."""
    if not layout.model_record(name).is_file():
        raise ConfigError(f"model {name} is not trained below {layout.root}; train it with `corpus model train {name}`")
    return model_record.read(layout.model_record(name))


def numbers(record: ModelRecord) -> dict[str, float | int]:
    """What Dagster draws over time; what was not measured is left out."""
    held = record.held_out
    if record.kind not in CLASSIFIERS:
        thousandths = {f"perplexity_{part}_percent": value for part, value in held["percentiles"]}
        thousandths |= {"head_max": held["head_max"], "middle_max": held["middle_max"]}
        measured = {name: value / 1000 for name, value in thousandths.items() if value is not None}
        return {"held_out": held["documents"], **measured}
    found: dict[str, float | int] = {"held_out": held["positive"] + held["negative"]}
    if held["auc_millionths"] is not None:
        found["auc"] = held["auc_millionths"] / _MILLION
    kept = held["positive_kept"] + held["negative_kept"]
    if kept and held["negative"]:
        found["precision"] = held["positive_kept"] / kept
    if held["positive"]:
        found["recall"] = held["positive_kept"] / held["positive"]
    return found


def table(record: ModelRecord) -> str:
    """Markdown: precision and recall by language, or perplexity by percentile."""
    held = record.held_out
    if record.kind not in CLASSIFIERS:
        lang = record.made_of["settings"]["lang"]
        rows = [(f"{part} %", NONE if value is None else f"{value / 1000:g}") for part, value in held["percentiles"]]
        return _markdown(("held-out documents", f"perplexity ({lang}) up to"), rows)
    parts = {"all": held, **held["languages"]}
    head = ("language", "positive", "negative", "AUC", f"precision at {MIDDLE / 1000:g}", "recall")
    return _markdown(head, [(name, *_row(one)) for name, one in parts.items()])


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    auc, kept = one["auc_millionths"], one["positive_kept"]
    return (
        f"{one['positive']:,}",
        f"{one['negative']:,}",
        NONE if auc is None else f"{auc / _MILLION:.4f}",
        share(kept, kept + one["negative_kept"]) if one["positive"] and one["negative"] else NONE,
        share(kept, one["positive"]),
    )


def _markdown(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ("---",) * len(head), *rows)]
    return "\n".join(lines)


def picture(record: ModelRecord) -> Picture:
    """What each limit would keep of either side, or the perplexity that a share of the documents does not pass."""
    held = record.held_out
    if record.kind in CLASSIFIERS:
        sides = [(1, "positive", held["positive"]), (2, "negative", held["negative"])]
        lines = [
            curves.Line(f"{side} documents kept", [(row[0] / 1000, row[at] / n) for row in held["kept_by_min"]])
            for at, side, n in sides
            if n
        ]
        tenths = [(i / 5, f"{i / 5:g}") for i in range(6)]
        return curves.drawn(
            "held-out documents that a limit keeps", lines, curves.Axis("min", tenths), curves.per_cent(1)
        )
    points = [(value / 1000, part / 100) for part, value in held["percentiles"] if value is not None]
    most = int(max((x for x, _ in points), default=1)) + 1
    return curves.drawn(
        "held-out documents up to a perplexity",
        [curves.Line("share of documents", points)] if points else [],
        curves.counts(most, "perplexity of a word"),
        curves.per_cent(1),
    )


def model_is_the_recorded(layout: Layout, name: str) -> Finding:
    """The file has the digest of its record and is a model that can be read, of the config as it is now."""
    record, config = open_record(layout, name), config_files.load(layout.model_config(name), name)
    hold_to_record(layout, record)
    figures: dict[str, int | float | str] = {"bytes": record.num_bytes, "sha256": record.sha256}
    if record.config_sha256 != config.config_sha256:
        path = layout.model_config(name)
        return Finding(False, f"{path} changed since the model was trained; materialize trained_models again", figures)
    return Finding(True, f"{file_of(layout, record).name} has sha256 {record.sha256}", figures)


def better_than_chance(layout: Layout, name: str) -> Finding:
    """A classifier puts a positive document above a negative one more often than not; a language model foresees words
    better than by guessing among those that it knows.
    """
    record, held = open_record(layout, name), open_record(layout, name).held_out
    if record.kind in CLASSIFIERS:
        auc = held["auc_millionths"]
        if auc is None:
            return Finding(False, "one side has no held-out document, so nothing is known of it; train with more")
        return Finding(2 * auc > _MILLION, f"AUC of held-out documents {auc / _MILLION:.4f}", {"auc": auc / _MILLION})
    median, words = dict(held["percentiles"])[50], record.trained["ngrams"][0]
    if median is None:
        return Finding(False, "no document was held out, so nothing is known of it; train with more")
    return Finding(
        median < 1000 * words,
        f"median perplexity of held-out documents {median / 1000:g}, of {words:,} words known",
        {"median": median / 1000, "words": words},
    )
