"""Advisory: one record of the OSV schema (https://ossf.github.io/osv-schema/), and whether a version of a package is
affected by it, by that schema's own algorithm over versions as PyPI orders them (PEP 440).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

RANGE_TYPES = ("ECOSYSTEM", "SEMVER")
"""Ranges over versions; those of type GIT are over commits, and say nothing about what PyPI holds."""
_BOUNDS = ("introduced", "last_affected", "fixed")
"""In the order in which they count at one and the same version: what is fixed there is not affected there."""


class BadAdvisoryError(ValueError):
    """A record that cannot be judged; the words say where in it."""


@dataclass(frozen=True)
class Span:
    """Versions from `introduced` on (None: from the first), to before `fixed` or to `last_affected` inclusive."""

    introduced: Version | None
    fixed: Version | None = None
    last_affected: Version | None = None

    def holds(self, version: Version) -> bool:
        if self.introduced is not None and version < self.introduced:
            return False
        if self.fixed is not None:
            return version < self.fixed
        return self.last_affected is None or version <= self.last_affected


@dataclass(frozen=True)
class Affected:
    """One package that an advisory is about."""

    package: str
    spans: tuple[Span, ...]
    versions: tuple[str, ...]

    def holds(self, version: Version) -> bool:
        return any(span.holds(version) for span in self.spans) or any(_same(one, version) for one in self.versions)

    def fixed_in(self, version: Version) -> Version | None:
        """The first version above this one that ends a span and is in none."""
        ends = sorted(span.fixed for span in self.spans if span.fixed and span.fixed > version)
        return next((end for end in ends if not self.holds(end)), None)


@dataclass(frozen=True)
class Advisory:
    """One record: `withdrawn` ones affect nothing any more."""

    id: str
    aliases: tuple[str, ...]
    withdrawn: bool
    modified: str
    affected: tuple[Affected, ...]

    def of(self, package: str) -> Iterable[Affected]:
        """What it says about a package, whose name is in its canonical form."""
        return (one for one in self.affected if one.package == package)


def public(version: str) -> Version:
    """A version without its local part: `2.13.0+cpu` is what `2.13.0` is. Raises InvalidVersion."""
    return Version(Version(version).public)


def from_osv(record: Mapping[str, Any], packages: Iterable[str] | None = None) -> Advisory:
    """Read a record; with `packages` (canonical names), only what it says about these. Raises BadAdvisoryError."""
    try:
        entries = record.get("affected") or []
        ours = [(name, entry) for entry in entries if (name := _pypi_name(entry)) and _wanted(name, packages)]
        return Advisory(
            id=_text(record["id"]),
            aliases=tuple(_text(one) for one in record.get("aliases") or []),
            withdrawn=_text(record.get("withdrawn") or "").lower() not in ("", "null", "~"),
            modified=_text(record.get("modified") or ""),
            affected=tuple(_affected(name, entry) for name, entry in ours),
        )
    except BadAdvisoryError as error:
        raise BadAdvisoryError(f"{record.get('id')}: {error}") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise BadAdvisoryError(f"{record.get('id')}: no record of the OSV schema ({error!r})") from None


def _wanted(name: str, packages: Iterable[str] | None) -> bool:
    return packages is None or name in packages


def _pypi_name(entry: Mapping[str, Any]) -> str:
    package = entry.get("package") or {}
    is_pypi = _text(package.get("ecosystem") or "").partition(":")[0].lower() == "pypi"
    return canonicalize_name(_text(package.get("name"))) if is_pypi else ""


def _affected(name: str, entry: Mapping[str, Any]) -> Affected:
    spans: list[Span] = []
    for one in entry.get("ranges") or []:
        if one.get("type") in RANGE_TYPES:
            spans += _spans(one.get("events") or [])
    versions = tuple(_text(one) for one in entry.get("versions") or [])
    if not (spans or versions) and entry.get("ranges"):
        raise BadAdvisoryError(
            f"says of {name} neither versions nor a range of them, so nothing can be held against it"
        )
    if not (spans or versions):
        spans = [Span(None)]  # about a package, and no word on versions: all of them
    return Affected(name, tuple(spans), versions)


def _spans(events: Sequence[Mapping[str, Any]]) -> list[Span]:
    """The spans of a range, whose events may stand in any order."""
    points = [(_bound(event[kind]), i, kind) for event in events for i, kind in enumerate(_BOUNDS) if kind in event]
    points.sort(key=lambda point: (point[0] is not None, point[0] or Version("0"), point[1]))
    spans: list[Span] = []
    begun: list[Version | None] = []
    for version, _, kind in points:
        if kind == "introduced":
            begun.append(version)
        elif begun and version is not None:
            spans.append(Span(begun[0], **{kind: version}))
            begun = [one for one in begun[1:] if one == version]  # begins anew where the one before it ends
    return [*spans, Span(begun[0])] if begun else spans


def _bound(text: Any) -> Version | None:
    """A version of an event; None for the "0" that stands before all of them."""
    text = _text(text)
    if text == "0":
        return None
    try:
        return Version(text)
    except InvalidVersion:
        raise BadAdvisoryError(f"version {text[:80]!a} is none of PEP 440, so nothing can be held against it") from None


def _same(listed: str, version: Version) -> bool:
    """Whether a listed version is this one; one that PEP 440 does not know is none that pip installs."""
    try:
        return Version(listed) == version
    except InvalidVersion:
        return False


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise BadAdvisoryError(f"{type(value).__name__} {str(value)[:80]!a} where a text is expected")
    return value
