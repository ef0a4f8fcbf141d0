"""The questions of a datasheet for a data set, after Gebru et al., "Datasheets for Datasets" (2021), in our own words:
answered where the ledger and the run know the answer, open for the provider where only people do.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from corpus_assets.plans import datasheet_words
from corpus_assets.plans.datasheet_figures import Figures, pii_counts
from corpus_assets.plans.for_people import plural, share
from formats import corpus_shard
from formats.corpus_config import CorpusConfig
from formats.languages import UNDETERMINED
from formats.reasons import Reason

OPEN = "Open: only the provider can answer."


@dataclass(frozen=True)
class Question:
    """`answer` None: nothing that was measured answers it."""

    topic: str
    asks: str
    answer: str | None = None


def questions(figures: Figures) -> list[Question]:
    """All of them, by topic, in the order of the paper."""
    return [
        *_motivation(figures),
        *_composition(figures),
        *_collection(figures),
        *_processing(figures),
        *_uses(figures),
        *_distribution(figures),
        *_maintenance(figures),
    ]


def _motivation(figures: Figures) -> Iterator[Question]:
    notes = figures.config.notes
    yield Question("Motivation", "For what purpose was it made?", f"The config notes: {notes}" if notes else None)
    yield Question("Motivation", "Who made it, and on whose behalf?")
    yield Question("Motivation", "Who paid for it?")


def _composition(figures: Figures) -> Iterator[Question]:
    topic = "Composition"
    documents = sum(one.counts["documents"] for one in figures.sources)
    kinds = ", ".join(sorted({f"{one.row.kind} ({one.row.profile})" for one in figures.sources}))
    splits = ", ".join(f"{n:,} {name}" for name, n in sorted(figures.total("splits").items())) or "none"
    clusters = sum(n for n, _, _ in figures.clusters)
    in_clusters = sum(n for _, n, _ in figures.clusters)
    languages = figures.total("languages")
    pii = ", ".join(f"{kind} {n:,}" for kind, n in pii_counts(figures))
    yield Question(topic, "What is one row?", f"The text of one document, from files of these kinds: {kinds}.")
    yield Question(topic, "How many rows are there?", f"{plural(figures.num_docs, 'document')}: {splits}.")
    yield Question(
        topic,
        "Is it all there is, or a sample?",
        f"{_of_sample(figures.config)}{figures.num_docs:,} of {documents:,} raw documents "
        f"({share(figures.num_docs, documents)}); each of the others left for one reason, which is counted above. How "
        "the sources relate to the world is not measured.",
    )
    yield Question(topic, "What does a row hold?", f"The columns {', '.join(corpus_shard.SCHEMA.names)}.")
    yield Question(
        topic, "Is there a label or target?", "No: the text is what is learned. Language is told, not checked."
    )
    yield Question(
        topic,
        "Is anything missing from rows?",
        f"{plural(languages[UNDETERMINED], 'document')} without a language, "
        f"{figures.hosts.elsewhere:,} without a web address.",
    )
    yield Question(
        topic,
        "Are relations between rows told?",
        f"Near and exact duplicates are: {plural(clusters, 'cluster')} with {plural(in_clusters, 'document')}.",
    )
    yield Question(
        topic,
        "Which splits are to be used?",
        f"{splits}; val where the first 8 bytes of the text's SHA-256, mod 1000, are below "
        f"{figures.config.val_permille}. No train row is a near duplicate of a val row that was found.",
    )
    rejects = sum(one.num_rejects for one in figures.sources)
    yield Question(
        topic,
        "What errors, noise and redundancy are known?",
        f"{plural(rejects, 'record')} could not be read and left. Known limits stand below.",
    )
    yield Question(topic, "Does it depend on anything outside?", "No: texts are in the shards; URLs only say whence.")
    yield Question(topic, "Is anything in it confidential?")
    yield Question(topic, "Can it offend or frighten?")
    yield Question(topic, "Are groups of people told apart in it?")
    yield Question(
        topic,
        "Can single people be recognized?",
        f"It is not ruled out. Found by form and replaced: {pii}. Names, and what people tell, stay.",
    )
    yield Question(topic, "Does it hold sensitive data about people?")


def _collection(figures: Figures) -> Iterator[Question]:
    topic = "Collection"
    days = sorted({one.row.retrieved for one in figures.sources})
    num_files = sum(one.num_files for one in figures.sources)
    records = sum(one.counts["records"] for one in figures.sources)
    lists = figures.config.sites.opt_out
    opted_out = sum(one.dropped(Reason.OPT_OUT.value) for one in figures.sources)
    yield Question(
        topic,
        "How was the data obtained?",
        f"{plural(num_files, 'file')} of {plural(len(figures.sources), 'source')}, each named in the ledger with its "
        "length and SHA-256 and held to them.",
    )
    yield Question(
        topic,
        "By what means?",
        f"The stages {', '.join(stage for stage, _, _ in datasheet_words.stages(figures))}; versions stand above.",
    )
    drawn = _of_sample(figures.config) or "Not at all: "
    yield Question(topic, "How was it sampled?", f"{drawn}all {plural(records, 'record')} of these files were read.")
    yield Question(topic, "Who took part, and how were they paid?")
    yield Question(topic, "Over what time?", f"Retrieved from {days[0]} to {days[-1]}, as the ledger says.")
    yield Question(topic, "Was there an ethical review?")
    yield Question(topic, "Were the people concerned told?")
    yield Question(topic, "Did they consent?")
    yield Question(
        topic,
        "Can consent be withdrawn?",
        f"{plural(opted_out, 'document')} left by {plural(len(lists), 'opt-out list')}: "
        f"{', '.join(one.name for one in lists)}. Whom to ask is open."
        if lists
        else None,
    )
    yield Question(topic, "Was the effect on the people concerned studied?")


def _of_sample(config: CorpusConfig) -> str:
    """How many documents were drawn to be looked at, before what is said of them; nothing where all were."""
    if not config.is_sample:
        return ""
    return f"A sample: {config.sample_permille} of a thousand documents were drawn, by their ids alone; "


def _processing(figures: Figures) -> Iterator[Question]:
    topic = "Processing"
    steps = [f"{one.name} −{sum(one.taken):,}" for one in figures.funnel() if one.taken is not None]
    raw_sets = figures.version.stage_versions.get("raw_sets", {})
    yield Question(topic, "How was it cleaned?", f"{'; '.join(steps)}. Personal data was replaced in what stayed.")
    yield Question(
        topic,
        "Is the raw data kept?",
        f"In {plural(len(raw_sets), 'raw set')} that never change; their digests are in stage_versions.json.",
    )
    yield Question(
        topic,
        "Is the software there?",
        f"Code and library versions stand above; the config has SHA-256 {figures.version.manifest['config_sha256']}.",
    )


def _uses(figures: Figures) -> Iterator[Question]:
    topic = "Uses"
    sets = ", ".join(one["eval_set"] for one in figures.version.counts["eval_sets"])
    yield Question(topic, "What was it used for before?")
    yield Question(topic, "Where are works listed that use it?")
    yield Question(topic, "What else could it be used for?")
    yield Question(
        topic,
        "Does its making limit later uses?",
        f"Scores on {sets} are as clean as n-grams of these sets can make them; no other benchmark was looked for."
        if sets
        else "No eval set was looked for, so no benchmark can be taken as unseen.",
    )
    yield Question(topic, "What should it not be used for?")


def _distribution(figures: Figures) -> Iterator[Question]:
    topic = "Distribution"
    terms = ", ".join(f"{one.name} ({plural(one.documents, 'document')})" for one in figures.licenses())
    names = ", ".join(sorted({one.row.attribution for one in figures.sources}))
    yield Question(topic, "Will others get it?")
    yield Question(topic, "How, and under which identifier?", f"SHA-256 of the manifest: {figures.version.digest}.")
    yield Question(topic, "When?")
    yield Question(topic, "Under which terms?", f"By source: {terms}.")
    yield Question(topic, "Do third parties restrict it?", f"Licences ask to name: {names}. Other rights are open.")
    yield Question(topic, "Do export rules or others apply?")


def _maintenance(figures: Figures) -> Iterator[Question]:
    topic = "Maintenance"
    key = figures.version.key
    yield Question(topic, "Who keeps it, and how are they reached?")
    yield Question(
        topic,
        "Are errors listed and put right?",
        f"{key} never changes. What is put right is a new version; `corpus diff` tells what differs.",
    )
    yield Question(topic, "Will it be updated, by whom, how often?")
    yield Question(topic, "Are there limits to how long data about people is kept?")
    yield Question(topic, "Will older versions be kept?")
    yield Question(topic, "Can others add to it?")
