"""`corpus build` of a published version whose raw sets are not here, as after `corpus pull`: where all of it is whole
nothing is made, and nothing is fetched.
"""

import os
import sys
from contextlib import suppress

from corpus_assets.commands.builder import opened
from corpus_assets.commands.words import counted
from corpus_assets.plans import standing, stored
from corpus_assets.plans.for_people import shortened
from corpus_assets.plans.pinned import Build, Version, hold_to_published_config
from corpus_assets.plans.published_version import open_published
from formats.errors import CorpusError, CorruptDataError
from formats.layout import Layout
from resources.remote.address import VARIABLE as STORE_VARIABLE


def without_raw_sets(layout: Layout, version: Version) -> list[str]:
    """The sources of a published version whose raw sets are not here; none of a version that is not published, or
    whose evidence cannot be read: the runs of a build say so.
    """
    if not layout.lock(version.key).exists():
        return []
    with suppress(CorpusError):
        published = open_published(layout, version.key)
        return [source for source in version.config.sources if published.raw_set(source) is None]
    return []


def finish(build: Build, version: Version, gone: list[str], *, verbose: bool) -> int | None:
    """Hash what is published, and make what a stopped run left out after the lock; the exit code. None where something
    is damaged: it has to be built again. Raises PublishedError for a version with another config.
    """
    key, layout = version.key, build.layout
    hold_to_published_config(layout, version)
    try:
        lies = stored.published(build, key)
    except CorruptDataError as error:
        damage = [error]
    else:
        damage = stored.damaged([lies])
    raw = f"raw sets of {shortened(', '.join(gone), 80)}"
    if damage:
        print("\n".join(f"damaged: {one}" for one in damage))
        print(
            f"{key} is published, and not here: {raw}. They are made again from the sources that the ledger names; "
            f"`corpus pull {key}` mends it from an object store without them"
        )
        return None
    missing = [asset for asset in standing.AFTER_THE_LOCK if standing.lacks(layout, version, asset)]
    todo = ""
    if missing or os.environ.get(STORE_VARIABLE):
        with opened(layout, verbose=verbose) as (builder, _):
            made = not missing or builder.materialize(str(key), missing)
            if not made or not builder.store_too(str(key), "stored_version"):
                print(f"{key} stopped; mend what is named above and run again", file=sys.stderr)
                return 1
        builder.tell_failed(str(key))
    else:
        todo = "; nothing to do"
    print(f"{key} is published and whole: {counted(len(lies.files), 'file')} verified{todo}")
    print(f"not here, and not needed: {raw}; only a next version is built of them")
    return 0
