"""What the first build of a version takes over from other versions, told before it starts."""

from corpus_assets.plans.for_people import plural, shortened
from corpus_assets.plans.pinned import Build, Version
from corpus_assets.plans.standing import OF_SOURCE, State, at_first

_NAMES_CHARS = 80


def told(build: Build, version: Version) -> str | None:
    """In one line; None where there is nothing to say: the version was begun before, or no other one was.

    Costs some milliseconds a source.
    """
    layout = build.layout
    pinned = set(layout.work("ledger_entry", "").glob("*.json"))
    if not pinned or layout.lock(version.key).exists() or pinned & {layout.pinned_row(pair) for pair in version.pairs}:
        return None
    stands = at_first(build, version)
    there = {name: {one.asset for one in found if one.state is State.DONE} for name, found in stands.sources.items()}
    counts = {asset: sum(asset in assets for assets in there.values()) for asset in OF_SOURCE}
    words = [f"{asset} of {n:,}" for asset, n in counts.items() if n]
    words += [one.asset for one in stands.whole if one.state is State.DONE]
    if not words:
        return "reused from other versions: nothing"
    new = ", ".join(sorted(name for name, assets in there.items() if not assets))
    of_all = f"of {plural(len(there), 'source')}"
    more = f"; nothing of {shortened(new, _NAMES_CHARS)}" if new else ""
    return f"reused from other versions, {of_all}: {', '.join(words)}{more}"
