"""A draft of the public summary of training content that Article 53(1)(d) of the EU's AI Act asks of providers, after
the sections of the AI Office's template (July 2025), in our own words: filled with what the run measured, and plainly
marked where only the provider can answer. A draft for people to finish, no legal advice.
"""

from collections.abc import Iterator, Sequence

from corpus_assets.plans.datasheet_figures import Figures, SourceFigures, pii_counts
from corpus_assets.plans.for_people import num_bytes, plural, rounded, share
from corpus_assets.plans.page_markdown import escaped, table
from formats.reasons import Reason

PROVIDER = "**[provider]**"
"""Stands before everything that the provider has to answer."""
CRAWLED_KINDS = ("warc", "wet", "html")
"""Kinds of files that hold pages as they were crawled; what else there is came as a data set."""
FEW_TOKENS = 1_000_000_000
"""Upper end of the template's lowest range of text, in tokens."""
MAX_BYTES_OF_A_CHARACTER = 4
"""Of UTF-8. No tokenizer over bytes makes more tokens than there are bytes."""
DOMAIN_SHARE = 10
"""One in so many hosts is listed, those with most content: 10 %."""


def render(figures: Figures) -> str:
    """The draft as Markdown."""
    version = figures.version
    words = (
        f"Draft for the training content in {version.key} (manifest SHA-256 {version.digest}). Figures were measured "
        "while it was built and are not typed by hand. What is marked so only the provider of a model can answer:"
    )
    blocks = [
        f"# Training content of {escaped(str(version.key))}",
        f"{escaped(words)} {PROVIDER}. If a model is trained on more than this, its summary is of all of it.",
        *_general(figures),
        *_sources(figures),
        *_processing(figures),
    ]
    return "\n\n".join(blocks) + "\n"


def _general(figures: Figures) -> Iterator[str]:
    languages = sorted(figures.total("languages").items(), key=lambda item: (-item[1], item[0]))
    days = sorted(one.row.retrieved for one in figures.sources)
    profiles = sorted({one.row.profile for one in figures.sources})
    yield "## 1. General information"
    yield "### 1.1 Provider"
    yield _asked("name and contact", "authorised representative in the Union, if there has to be one")
    yield "### 1.2 Model"
    yield _asked("names and versions of the model", "models that it was made from", "date of placing on the market")
    yield "### 1.3 Modalities, size and character of the training data"
    yield table(
        ("modality", "in this corpus", "range"),
        [
            (
                "text",
                f"{rounded(figures.num_chars)} characters in {plural(figures.num_docs, 'document')}",
                _range(figures),
            ),
            *((name, "none", "–") for name in ("image", "audio", "video", "other")),
        ],
    )
    yield f"Kinds of text, by filter profile: {escaped(', '.join(profiles))}."
    yield f"Latest acquisition: {days[-1]} (the ledger's day of retrieval)."
    yield _asked("whether data is still being acquired", "range in tokens, where it is not told above")
    yield "Languages of the documents, as labelled by the run:"
    yield table(("language", "documents", "share"), [(n, f"{c:,}", share(c, figures.num_docs)) for n, c in languages])
    yield _asked("other traits of the data: regions, groups of people, anything that helps to judge it")


def _range(figures: Figures) -> str:
    """Certain where even a token a byte stays below; else it depends on the tokenizer."""
    if figures.num_chars * MAX_BYTES_OF_A_CHARACTER < FEW_TOKENS:
        return "less than 1 billion tokens"
    return "for the provider: depends on the tokenizer"


def _sources(figures: Figures) -> Iterator[str]:
    crawled = [one for one in figures.sources if one.row.kind in CRAWLED_KINDS]
    others = [one for one in figures.sources if one.row.kind not in CRAWLED_KINDS]
    own_terms = [one.name for one in figures.sources if "LicenseRef-" in one.row.license_spdx]
    yield "## 2. Sources"
    yield (
        "The ledger says of every source what its files are and under which licence they are used, not by which way a "
        "provider came to them. Sources whose files hold crawled pages are listed under 2.3, all others under 2.1."
    )
    yield _asked("move each source to where it belongs; name links for those that are public")
    yield "### 2.1 Publicly available data sets"
    yield _source_table(figures, others)
    yield "### 2.2 Private data sets of third parties"
    yield _asked("data licensed by rightsholders or their agents", "other private data sets")
    if own_terms:
        yield f"Under terms that are on no public list, so to be looked at first: {escaped(', '.join(own_terms))}."
    yield "### 2.3 Data crawled from online sources"
    yield _source_table(figures, crawled)
    if crawled:
        days = sorted(one.row.retrieved for one in crawled)
        yield f"Period of retrieval: {days[0]} to {days[-1]}, by the ledger."
    yield _asked(
        "names and identifiers of the crawlers, their purposes, and how they behave (robots.txt, paywalls, captchas)",
        "kinds of sites that were crawled",
    )
    yield from _domains(figures)
    yield "### 2.4 User data"
    yield _asked("whether data from users of the provider's services or models was used, which, and on what basis")
    yield "### 2.5 Synthetic data"
    yield _asked("whether data was made by models, and by which")
    yield "### 2.6 Other sources"
    yield _asked("anything that is not above")


def _source_table(figures: Figures, sources: Sequence[SourceFigures]) -> str:
    rows = [
        (
            one.name,
            one.row.title,
            f"{one.row.license_spdx} ({one.row.license_evidence})",
            one.row.retrieved,
            num_bytes(one.num_bytes),
            f"{one.counts['kept']:,}",
            share(one.counts["chars"], figures.num_chars),
        )
        for one in sources
    ]
    heads = ("source", "title", "licence", "retrieved", "fetched", "documents", "of characters")
    return table(heads, rows, max_cell=None)


def _domains(figures: Figures) -> Iterator[str]:
    """The hosts with most content, over all sources: pages come as data sets, too."""
    found = figures.hosts
    num_hosts = len(found.chars)
    listed = found.top_by_chars(-(-num_hosts // DOMAIN_SHARE))
    yield "Most relevant domain names"
    yield (
        f"{plural(num_hosts, 'host')} in the URLs of published documents of all sources; one in {DOMAIN_SHARE}, those "
        "with most characters, is listed. Hosts are as they stand in the URLs, not folded to registered domains."
    )
    if found.floor:
        yield (
            f"Hosts with few documents were left out while counting: there are more of them, and a figure may be too "
            f"small by up to {found.floor_chars:,}."
        )
    yield table(("host", "characters", "share"), [(h, f"{n:,}", share(n, figures.num_chars)) for h, n in listed])


def _processing(figures: Figures) -> Iterator[str]:
    sites = figures.config.sites
    opted_out, blocked = _dropped(figures, Reason.OPT_OUT), _dropped(figures, Reason.BLOCKED_SITE)
    pii = ", ".join(f"{kind} {n:,}" for kind, n in pii_counts(figures))
    yield "## 3. Data processing"
    yield "### 3.1 Reservations of rights (text and data mining)"
    yield (
        f"Opt-out lists that the version is bound to: {_names([one.name for one in sites.opt_out])}. Documents left "
        f"out for them: {opted_out:,}."
    )
    yield "Every source has a licence in the ledger that the version's config allows; others are never fetched."
    yield _asked("how opt-outs were found and kept at the time of collection", "codes of practice that were signed")
    yield "### 3.2 Removal of illegal content"
    yield (
        f"Block lists that the version is bound to: {_names([one.name for one in sites.block])}. Documents left out "
        f"for them: {blocked:,}. Personal data found by form and replaced: {escaped(pii)}."
    )
    yield _asked("measures against illegal content that are not these lists, before and after collection")
    yield "### 3.3 Other processing"
    steps = [
        (one.name, "–" if one.taken is None else f"{sum(one.taken):,}", f"{sum(one.left):,}")
        for one in figures.funnel()
    ]
    yield table(("step", "left out", "documents left"), steps)


def _dropped(figures: Figures, reason: Reason) -> int:
    return sum(one.dropped(reason.value) for one in figures.sources)


def _names(names: Sequence[str]) -> str:
    return escaped(", ".join(names)) if names else "none"


def _asked(*words: str) -> str:
    return "\n".join(f"- {PROVIDER} {one}" for one in words)
