"""Every file that a config pins, held to its digest and its format before any work: at the stage that reads it, days
of fetching and measuring may lie behind.
"""

from corpus_assets.plans import eval_index, pinned_models, site_rules, word_rules
from corpus_assets.plans.extractors import page_extractor
from corpus_assets.plans.pinned import Build, Version


def hold_pinned(build: Build, version: Version) -> None:
    """Lists, models and eval sets of a version. A published version has taken from them what it needed, so that they
    may be gone. Raises ConfigError for a file that is missing or of another format, CorruptDataError for other bytes.
    """
    layout, config = build.layout, version.config
    if layout.lock(version.key).exists():
        return
    page_extractor(config.extract, layout.root)
    site_rules.read_entries(layout, version)
    for one in config.words.lists:
        word_rules.read_entries(layout, version, one)
    pinned_models.hold_to_digests(layout, config)
    if config.decontaminate.eval_sets:
        eval_index.eval_index(build, version)  # stored, so that decontamination makes no other
