"""A finding of an audit as the result of an asset check."""

import dagster as dg

from corpus_assets.plans.audit import Finding


def as_result(finding: Finding, key: str, *, warn: bool = False) -> dg.AssetCheckResult:
    """The words and figures of a finding; they begin with the partition, since the UI shows checks of many together."""
    return dg.AssetCheckResult(
        passed=finding.passed,
        severity=dg.AssetCheckSeverity.WARN if warn else dg.AssetCheckSeverity.ERROR,
        description=f"{key}: {finding.words}",
        metadata=dict(finding.figures),
    )
