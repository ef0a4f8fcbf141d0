"""Whether an object store has all that was published: lengths aside, by the digests that it keeps with the objects."""

from concurrent.futures import ThreadPoolExecutor

from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.for_people import plural
from corpus_assets.plans.push import publication_of
from formats.layout import Layout
from resources.remote.s3 import S3Store

SHOWN = 5


def is_stored(store: S3Store, layout: Layout, name: str) -> Finding:
    """Every file of a version or token set is an object of the digest that the manifest or the seal here names. The
    evidence may be that of an earlier datasheet: then it is held to be there and no more. Raises as `push` does.
    """
    found = publication_of(layout, name)

    def digest(key: str) -> str | None:
        about = store.about(key)
        return (about.sha256 or store.digest(key)) if about else None

    with ThreadPoolExecutor(store.settings.parallel_files, thread_name_prefix="audit") as threads:
        there = dict(zip(found.all_files, threads.map(digest, [file.name for file in found.all_files]), strict=True))
    earlier = bool(found.evidence) and there[found.evidence[-1]] not in (None, found.evidence[-1].sha256)
    wrong = [
        file.name
        for file, sha256 in there.items()
        if sha256 is None or (sha256 != file.sha256 and not (earlier and file in found.evidence))
    ]
    figures = {"objects": len(there), "wrong": len(wrong)}
    if wrong:
        names = ", ".join(wrong[:SHOWN]) + (", …" if len(wrong) > SHOWN else "")
        return Finding(False, f"{store.address.url}: missing or changed: {names}; materialize it again", figures)
    note = ", the evidence as it was when it was published" if earlier else ""
    return Finding(True, f"{plural(len(there), 'object')} in {store.address.url}{note}", figures)
