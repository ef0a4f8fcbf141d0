"""An audit as an asset check."""

from collections.abc import Callable

import dagster as dg

from corpus_assets.plans.audit import Finding
from formats.errors import CorpusError


def as_result(audit: Callable[[], Finding], key: object, *, warn: bool = False) -> dg.AssetCheckResult:
    """The words and figures of a finding; they begin with the partition, since the UI shows checks of many together.

    What cannot be read back is a finding, too, and never a mere warning: the check says where and what to do.
    """
    try:
        finding = audit()
    except CorpusError as error:
        finding, warn = Finding(False, str(error)), False
    return dg.AssetCheckResult(
        passed=finding.passed,
        severity=dg.AssetCheckSeverity.WARN if warn else dg.AssetCheckSeverity.ERROR,
        description=f"{key}: {finding.words}",
        metadata=dict(finding.figures),
    )
