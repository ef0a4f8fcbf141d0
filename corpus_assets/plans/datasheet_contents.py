"""The sections of a datasheet on what is in it: sources, their terms, languages, lengths, hosts, dates, splits."""

from collections import Counter
from collections.abc import Sequence

from corpus_assets.plans import datasheet_pictures as drawn
from corpus_assets.plans import datasheet_words
from corpus_assets.plans import page_markup as markup
from corpus_assets.plans.datasheet_figures import Figures
from corpus_assets.plans.datasheet_tokens import NO_SNAPSHOT
from corpus_assets.plans.for_people import NONE, num_bytes, plural, share
from corpus_assets.plans.page_markup import Html, Right
from corpus_assets.plans.pictures import Picture
from formats.judged_pages import BLOCKS, RESILIPARSE, TRAFILATURA
from formats.reasons import Reason

NUM_NAMED, MAX_LANGUAGES, MAX_TOKEN_PICTURES = 4, 40, 4


def sources(figures: Figures) -> Html:
    rows: list[list[object]] = []
    for one in figures.sources:
        row = one.row
        title = row.title if row.title != row.source_id else ""
        rows.append(
            [
                Html(f"<b>{markup.text(row.source_id)}</b>{'<br>' if title else ''}{markup.text(title)}"),
                Html(f"{markup.text(row.kind)}<br><span class=soft>{markup.text(row.profile)}</span>"),
                one.num_files,
                Right(num_bytes(one.num_bytes)),
                one.counts["records"],
                one.counts["documents"],
                one.counts["kept"],
                markup.share_of(one.counts["kept"], one.counts["documents"]),
                *_bytes(one.text_bytes, figures.text_bytes),
                markup.share_of(one.counts["chars"], figures.num_chars),
            ]
        )
    heads = ["source", "kind", "files", "fetched", "records", "documents", "kept", "kept of documents"]
    heads += ["bytes of text", "of bytes", "of characters"]
    papers = [
        [
            Html(f"<b>{markup.text(one.name)}</b>"),
            _terms(one.row.license_spdx),
            markup.link(one.row.license_evidence, one.row.license_evidence),
            one.row.attribution,
            Html(f"<span class=whole>{markup.text(one.row.retrieved)}</span>"),
            Html(f'<code class=whole title="{markup.text(one.row.digest)}">{markup.text(one.row.digest[:12])}…</code>'),
        ]
        for one in figures.sources
    ]
    paper_heads = ("source", "licence", "evidence of the licence", "attribution", "retrieved", "ledger row")
    shares = markup.figure(drawn.source_shares(figures)) + _figure(drawn.source_bytes(figures))
    return Html(f"{shares}{markup.table(heads, rows)}<h3>Under which terms</h3>{markup.table(paper_heads, papers)}")


def licenses(figures: Figures) -> Html:
    """By documents, characters, bytes and, for each token set with a snapshot, tokens."""
    named = [one.name for one in figures.token_sets]
    rows = [
        [
            _terms(one.name),
            one.documents,
            markup.share_of(one.documents, figures.num_docs),
            *_bytes(one.text_bytes, figures.text_bytes),
            one.chars,
            markup.share_of(one.chars, figures.num_chars),
            *(one.tokens[name] for name in named),
            _names([source.name for source in figures.sources if source.row.license_spdx == one.name]),
        ]
        for one in figures.licenses()
    ]
    heads = ["licence", "documents", "of documents", "bytes of text", "of bytes", "characters", "of characters"]
    heads += [*(f"tokens of {name}" for name in named), "sources"]
    pictures = [drawn.licenses(figures), drawn.licenses_by_bytes(figures), drawn.licenses_by_chars(figures)]
    pictures += [drawn.licenses_by_tokens(figures, name) for name in named[:MAX_TOKEN_PICTURES]]
    return Html("".join(map(_figure, pictures)) + markup.table(heads, rows) + _counted(figures))


def tokens(figures: Figures) -> Html:
    """The token sets that have a snapshot, or that none has."""
    rows = [
        [
            markup.code(one.name, whole=True),
            one.documents,
            one.tokens,
            one.seq_len,
            ", ".join(f"{bucket} {share(n, one.tokens)}" for bucket, n in sorted(one.by_bucket.items())),
            markup.code(one.snapshot_id),
        ]
        for one in figures.token_sets
    ]
    heads = ("token set", "documents", "tokens", "tokens a sequence", "by bucket", "snapshot")
    return markup.table(heads, rows) if rows else markup.paragraph(NO_SNAPSHOT)


def _bytes(part: int | None, whole: int | None) -> tuple[Right, Right]:
    if part is None or whole is None:
        return Right(NONE), Right(NONE)
    return Right(num_bytes(part)), markup.share_of(part, whole)


def _figure(picture: Picture | None) -> Html:
    return markup.figure(picture) if picture else Html("")


def _counted(figures: Figures) -> Html:
    """What bytes and tokens are of."""
    words = "Bytes are those of the published texts in UTF-8, after personal data was replaced."
    if figures.text_bytes is None:
        words = "The build of this version did not count bytes of text by source."
    more = "" if figures.token_sets else f" {NO_SNAPSHOT}"
    return markup.paragraph(words + more)


def _terms(expression: str) -> Html:
    parts = datasheet_words.license_parts(expression)
    return Html("".join(markup.link(address, words) if address else markup.text(words) for words, address in parts))


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:NUM_NAMED]) + (f" and {len(names) - NUM_NAMED} more" if len(names) > NUM_NAMED else "")


def lengths(figures: Figures) -> Html:
    mean = figures.num_chars // figures.num_docs if figures.num_docs else 0
    words = f"On average {mean:,} characters. Columns grow wider from left to right: ten a decade."
    return Html(markup.figure(drawn.lengths(figures)) + markup.paragraph(words))


def extraction(figures: Figures) -> Html:
    """How the pages of a version with the block extractor were read."""
    if figures.extraction is None:
        return Html("")
    pages, by = figures.extraction.counts.total(), figures.extractors
    others = pages - by[BLOCKS]
    whose = "Resiliparse"
    if by[TRAFILATURA]:
        whose = f"trafilatura, or where that found none, Resiliparse ({by[RESILIPARSE]:,})"
    words = (
        f"{plural(pages, 'page')} judged by the block extractor, dropped ones included: how much of the main text its "
        f"model expects to be wrong. {others:,} of them ({share(others, pages)}) have the text of the second "
        f"opinion, {whose}."
    )
    return Html(markup.paragraph(words) + markup.figure(drawn.extraction(figures.extraction)))


def hosts(figures: Figures) -> Html:
    found = figures.hosts
    web = figures.num_docs - found.elsewhere
    words = f"{plural(web, 'published document')} of {figures.num_docs:,} have a web address"
    if not found.counts:
        return markup.paragraph(f"{words}.")
    on = f"on {'more than ' if found.floor else ''}{plural(len(found.counts), 'host')}"
    floor = f"; a count may be too small by {found.floor:,} ({found.floor_chars:,} characters)" if found.floor else ""
    pictures = markup.figure(drawn.hosts(figures)) + markup.figure(drawn.hosts_by_chars(figures))
    return Html(markup.paragraph(f"{words}, {on}{floor}.") + pictures)


def languages(figures: Figures) -> Html:
    ranked = sorted(figures.by_language.items(), key=lambda item: (-item[1].total(), item[0]))
    rows = [_kept_of(code, verdicts) for code, verdicts in ranked[:MAX_LANGUAGES]]
    if rest := ranked[MAX_LANGUAGES:]:
        rows.append(_kept_of(f"{len(rest)} others", sum((verdicts for _, verdicts in rest), Counter())))
    words = "Of the raw documents of each language, those that are published, and the reason that took most."
    if figures.config.lang.own_rules:
        words += " Each language is judged by limits and stop words of its own."
    table = markup.table(("language", "documents", "published", "of documents", "most went as", "documents"), rows)
    return Html(
        f"{markup.figure(drawn.languages(figures))}<h3>What is kept of each</h3>{markup.paragraph(words)}{table}"
    )


def _kept_of(name: str, verdicts: Counter[str]) -> list[object]:
    lost = sorted((-n, reason) for reason, n in verdicts.items() if reason != Reason.KEPT)
    most, reason = lost[0] if lost else (0, "")
    kept, of = verdicts[Reason.KEPT.value], verdicts.total()
    return [name, of, kept, markup.share_of(kept, of), markup.code(reason, whole=True) if reason else "", -most]


def dates(figures: Figures) -> Html:
    words = (
        "By the day on which the ledger says that a source was retrieved. When a record was served or written stands "
        "in the raw sets and, where a source has it, decides which of two copies stays."
    )
    return Html(markup.figure(drawn.dates(figures)) + markup.paragraph(words))


def splits(figures: Figures) -> Html:
    rows = [[name, n, markup.share_of(n, figures.num_docs)] for name, n in sorted(figures.total("splits").items())]
    return markup.table(("split", "documents", "of documents"), rows)
