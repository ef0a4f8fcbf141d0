"""Whether what a version says of sites can meet the documents of a source at all."""

from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.pinned import Build, Pair
from corpus_assets.plans.source_stages import documents
from corpus_assets.plans.web_addresses import asks_for_sites, count_without, in_words, what_to_do
from formats import dataset


def site_lists_apply(build: Build, pair: Pair) -> Finding:
    """Some document of the source has a web address, where the version has site lists or a cap of domains."""
    rules = asks_for_sites(pair.config)
    if not rules:
        return Finding(True, "the version has no site lists and no cap of domains")
    texts = documents(build, pair).open().select("url")
    without, total = count_without(pair.row, (batch.column("url") for batch in dataset.read(texts)))
    figures = {"documents": total, "without_address": without}
    if total and without == total:
        return Finding(False, f"{in_words(rules, pair.row, without, total)}; {what_to_do(pair.row)}", figures)
    words = f"{without} of {total} documents have no web address, so that {rules} cannot meet them"
    return Finding(True, words if without else f"every one of {total} documents has a web address", figures)
