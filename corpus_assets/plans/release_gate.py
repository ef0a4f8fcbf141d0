"""The gate before publication: a finished folder is held to the rules that block a version, while nothing is published.

The same audits run after publication as blocking checks, by what a consumer would read. What only they find is damage
done since; what would be wrong from the start is stopped here, since a published version cannot be taken back.
"""

from collections.abc import Iterator
from pathlib import Path

from corpus_assets.plans import audit_text, audit_version
from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.eval_index import build_index
from corpus_assets.plans.evidence import Evidence
from corpus_assets.plans.pinned import Build, Pair
from formats import corpus_manifest
from formats.errors import CorruptDataError

_TODO = (
    "nothing was published; delete corpus/work and build the version again. If it stays so, a rule of this program is "
    "wrong: report it with these words"
)


def hold(folder: Path, build: Build, pairs: list[Pair], evidence: Evidence) -> None:
    """Raises CorruptDataError, naming the first check that fails and what it found. Reads the shards as they lie in
    `folder`, batch by batch; an eval set that changed since raises by its own name.
    """
    for check, finding in _findings(folder, build, pairs, evidence):
        if not finding.passed:
            out = build.layout.version(pairs[0].version.key)
            raise CorruptDataError(out, f"check {check}", "to hold", f"broken ({finding.words})", _TODO)


def _findings(folder: Path, build: Build, pairs: list[Pair], evidence: Evidence) -> Iterator[tuple[str, Finding]]:
    """Cheap ones first."""
    yield "manifest_hashes", audit_version.files_as_listed(folder)
    raw = sum(one.documents for one in evidence.raw)
    verdicts = evidence.funnel.total("verdicts")
    yield "version_conserved", audit_version.documents_add_up(corpus_manifest.read(folder), verdicts, raw)
    licences = {pair.row.source_id: pair.row.license_spdx for pair in pairs}
    yield "rows_match_ledger", audit_version.licences_of_rows(folder, licences)
    index, _ = build_index(build.layout, pairs[0].config)
    yield "no_contamination", audit_text.protected_items(folder, index, tell_near=False)
