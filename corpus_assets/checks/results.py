"""An audit as an asset check."""

import logging
from collections.abc import Callable

import dagster as dg

from corpus_assets.checks.did_not_pass import SAYS
from corpus_assets.plans.audit_finding import Finding
from formats.errors import CorpusError

_log = logging.getLogger("corpus.checks")
"""Into the run's log, with the step's name: Dagster's own line of a check that failed has no word of why."""


def as_result(
    audit: Callable[[], Finding], key: object, *, warn: bool = False, words: Callable[[CorpusError], str] = str
) -> dg.AssetCheckResult:
    """The words and figures of a finding; they begin with the partition, since the UI shows checks of many together.

    The page of a run shows a check's metadata and not its description, so the words of what failed stand in both. What
    cannot be read back is a finding, too, and never a mere warning: the check says where and what to do, by `words`. So
    is what the system does not give: a folder that is away, a disk that fails.
    """
    try:
        finding = audit()
    except CorpusError as error:
        finding, warn = Finding(False, words(error)), False
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        found = f"{where}{error.strerror or error}; see that it is there and can be read, then run the check again"
        finding, warn = Finding(False, found), False
    told = f"{key}: {finding.words}"
    if not finding.passed:
        _log.log(logging.WARNING if warn else logging.ERROR, "%s%s", SAYS, told)
    return dg.AssetCheckResult(
        passed=finding.passed,
        severity=dg.AssetCheckSeverity.WARN if warn else dg.AssetCheckSeverity.ERROR,
        description=told,
        metadata=dict(finding.figures) if finding.passed else {"what_is_wrong": told, **finding.figures},
    )
