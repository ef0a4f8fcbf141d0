"""The kinds of faults: each hurts a root before or during a build, once, and lets the trial judge what came of it."""

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from formats import evidence
from formats.layout import Layout
from tests.fault_server import Answer
from tests.faultlab import damage, roots
from tests.faultlab.builds import NOBODY, Running
from tests.faultlab.lab import V3, mounted_read_only, remount, served
from tests.faultlab.results import Hurt, WrongError

if TYPE_CHECKING:
    from tests.faultlab.trial import Trial

YEAR_SECONDS = 365.25 * 86400
BALLAST = "ballast"
"""A file beside the corpus that takes what room there is."""
MAKE_ROOM = ("make room", "largest size of a file")
MAY_WRITE = ("mount it for writing", "let this user", "writable", "readable")


def kill(trial: "Trial", fault: Hurt) -> None:
    trial.build(fault, trial.how(stop_at=trial.moment()), Running.kill)


def kill_in_a_write(trial: "Trial", fault: Hurt) -> None:
    """A kill, and what was being written is cut."""
    kill(trial, fault)
    damage.cut_unfinished(trial.root, trial.draw)


def kill_below(trial: "Trial", fault: Hurt) -> None:
    """A worker, the server of workers, a parser of pages: whatever the build has started by then."""

    def kill_one(running: Running) -> None:
        if below := running.below():
            os.kill(trial.draw.choice(below), signal.SIGKILL)
        else:
            fault.detail = "no process below at that moment"

    pool = (trial.draw.randrange(1, 6), trial.draw.randrange(1, 6))
    trial.build(fault, trial.how(workers=2, pool=pool), kill_one)


def damage_at_rest(trial: "Trial", fault: Hurt) -> None:
    hurt_one(trial, fault)
    trial.build(fault, trial.how())


def damage_under_way(trial: "Trial", fault: Hurt) -> None:
    def hurt(_: Running) -> None:
        before = set(trial.hurt)
        hurt_one(trial, fault)
        trial.hurt_on_the_way = trial.hurt - before

    trial.build(fault, trial.how(stop_at=trial.moment()), hurt)


def hurt_one(trial: "Trial", fault: Hurt) -> None:
    """Damage a stored file of any kind, under all its names."""
    if trial.given:
        name, way = trial.given.name, trial.given.way
    elif (name := damage.choose(trial.root, trial.draw)) is None:
        return
    else:
        way = trial.draw.choice(damage.WAYS)
    fault.detail += f"{damage.kind_of(name)}: {way} ({name})"
    inode = (trial.root / name).stat().st_ino
    files = (path for path in trial.root.rglob("*") if path.is_file())
    hurt = {path.relative_to(trial.root).as_posix() for path in files if path.stat().st_ino == inode}
    trial.hurt |= hurt | {damage.finished_name(one) for one in hurt}
    damage.hurt(trial.root / name, way, trial.draw)


def full_disk(trial: "Trial", fault: Hurt) -> None:
    """Little room from the start, or none from some moment on."""
    if not trial.root.is_mount():
        small_files(trial, fault)
        return
    free = int(trial.draw.random() ** 2 * 1_000_000)
    trial.lifts.append((MAKE_ROOM, lambda: _make_room(trial.root)))
    if trial.draw.random() < 0.5:
        fault.detail = f"{free} bytes free"
        _fill(trial.root, free)
        trial.build(fault, trial.how())
    else:
        trial.build(fault, trial.how(stop_at=trial.moment()), lambda _: _fill(trial.root, 0))
    _make_room(trial.root)
    trial.lifts.clear()


def _fill(root: Path, free: int) -> None:
    ballast = root / BALLAST
    with open(ballast, "wb", buffering=0) as file:
        with suppress(OSError):
            while True:
                file.write(bytes(1 << 20))
        file.truncate(max(0, ballast.stat().st_size - free))


def _make_room(root: Path) -> None:
    (root / BALLAST).unlink(missing_ok=True)


def small_files(trial: "Trial", fault: Hurt) -> None:
    """No file may grow beyond a limit, as a quota has it."""
    limit = int(10 ** trial.draw.uniform(3.6, 5))
    fault.detail = f"files of at most {limit} bytes"
    trial.lifts.append((MAKE_ROOM, lambda: None))
    trial.build(fault, trial.how(file_limit=limit))
    trial.lifts.clear()


def read_only(trial: "Trial", fault: Hurt) -> None:
    """From the start or from some moment on; a file system with a file open for writing stays as it is."""
    if not trial.root.is_mount():
        not_allowed(trial, fault)
        return

    def no_more_writing(_: Running | None = None) -> None:
        fault.detail = "" if mounted_read_only(trial.root) else "busy at that moment"

    trial.lifts.append((MAY_WRITE, lambda: remount(trial.root, "rw")))
    if trial.draw.random() < 0.5:
        no_more_writing()
        trial.build(fault, trial.how())
    else:
        trial.build(fault, trial.how(stop_at=trial.moment()), no_more_writing)
    remount(trial.root, "rw")
    trial.lifts.clear()


def not_allowed(trial: "Trial", fault: Hurt) -> None:
    """A folder that may not be written, or a file that may not be read, to a user who is not root."""
    if not trial.lab.can_be_nobody:
        small_files(trial, fault)
        return
    paths = [path for path in sorted(trial.root.rglob("*")) if path.name != BALLAST]
    if os.getuid() == 0:
        for path in (trial.root, *paths):
            os.chown(path, NOBODY, NOBODY)
    want_folder = trial.draw.random() < 0.6
    chosen = trial.draw.choice([path for path in paths if path.is_dir() == want_folder])
    mode = chosen.stat().st_mode
    chosen.chmod(0o555 if want_folder else 0)
    fault.detail = f"{'not writable' if want_folder else 'not readable'}: {chosen.relative_to(trial.root)}"

    def undo() -> None:
        if chosen.exists():
            chosen.chmod(mode)

    trial.lifts.append((MAY_WRITE, undo))
    trial.build(fault, trial.how(as_nobody=True))
    undo()
    trial.lifts.clear()


def slow_store(trial: "Trial", fault: Hurt) -> None:
    trial.build(fault, trial.how(workers=2, slow_from=trial.moment()))


def network(trial: "Trial", fault: Hurt) -> None:
    """Answers as bad servers and lines give them, then good ones, if there are tries left; or nobody answers."""
    scripts: dict[str, list[Answer]] = {}
    for url, content in sorted(trial.golden.files.items()):
        if trial.draw.random() < 0.6:
            scripts[url] = [_bad_answer(content, trial.draw) for _ in range(trial.draw.randrange(1, 6))]
    fault.detail = ", ".join(f"{len(script)} bad answers for {url}" for url, script in scripts.items())
    if trial.draw.random() < 0.15:
        fault.detail = "nobody answers"
        trial.build(fault, trial.how(proxy="http://127.0.0.1:9/"))
    elif trial.draw.random() < 0.5:
        trial.build(fault, trial.how(), scripts=scripts)
    else:
        fault.detail += "; killed on the way"
        trial.build(fault, trial.how(stop_at=trial.draw.randrange(20, 150)), Running.kill, scripts)


def _bad_answer(content: bytes, draw: random.Random) -> Answer:
    cut = draw.randrange(len(content))
    flipped = content[:cut] + bytes([content[cut] ^ 1]) + content[cut + 1 :]
    return draw.choice(
        (
            Answer(drop_after=cut),
            Answer(drop_after=cut, reset=True),
            Answer(drop_before_status=True),
            Answer(status=draw.choice((404, 429, 500, 503))),
            Answer(drop_after=cut, ignore_range=True),
            Answer(drop_after=cut, say_200=True),
            Answer(shift=draw.randrange(1, 10)),
            Answer(max_slice=1 + cut),
            Answer(length="chunked", drop_after=cut),
            Answer(length="close", drop_after=cut),
            Answer(announced_length=cut),
            Answer(junk=b"junk", length="chunked"),
            Answer(content=flipped, etag='"other"'),
            Answer(content=content[:cut], etag='"cut"'),
            Answer(content=content, etag='"again"'),
        )
    )


def same_version_beside(trial: "Trial", fault: Hurt) -> None:
    _beside(trial, fault, "starter.v1")


def _whatever_was_before(files: dict[str, str]) -> dict[str, str]:
    """Without the page of what differs from the version before, and the seal that names it: v1 may be published or not
    when v3 is.
    """
    depends = (evidence.DIFFERENCES_HTML, evidence.SEAL)
    return {name: digest for name, digest in files.items() if name.rpartition("/")[2] not in depends}


def other_version_beside(trial: "Trial", fault: Hurt) -> None:
    _beside(trial, fault, "starter.v3")
    found = _whatever_was_before(roots.published(trial.root, V3))
    expected = _whatever_was_before(trial.golden.published[V3])
    if Layout(trial.root).lock(V3).exists() and found != expected and not trial.hurt:
        raise WrongError("the other version has other bytes")


def _beside(trial: "Trial", fault: Hurt, version: str) -> None:
    """The second build begins at some moment of the first one, which perhaps is killed a moment later."""
    with served(trial.golden.files) as proxy:
        first = Running(trial.root, trial.how(stop_at=trial.moment(), proxy=proxy), trial.log)
        stopped = first.stopped()
        second = Running(trial.root, trial.how(version=version, proxy=proxy), trial.log.with_name("other"))
        if stopped and trial.draw.random() < 0.3:
            time.sleep(0.05)
            first.kill()
            fault.detail = "the first one is killed"
        elif stopped:
            first.go_on()
        ended, other = first.end(), second.end()
    if other.code != 0 and not trial.hurt:
        raise WrongError(f"the second build ended with {other.code}: {other.words[-2000:]}")
    trial.judge(fault, ended)


def moved_clock(trial: "Trial", fault: Hurt) -> None:
    """Years to and fro: the clock's, and those of the files."""
    years = trial.draw.uniform(-20, 20)
    fault.detail = f"{years:+.1f} years"
    for path in trial.root.rglob("*"):
        when = time.time() + trial.draw.uniform(-20, 20) * YEAR_SECONDS
        os.utime(path, (when, when))
    trial.build(fault, trial.how(clock_seconds=years * YEAR_SECONDS))


Kind = tuple[int, Callable[["Trial", Hurt], None]]

KINDS: dict[str, Kind] = {
    "kill": (18, kill),
    "kill in the middle of a write": (8, kill_in_a_write),
    "kill of a process below": (1, kill_below),
    "damage": (34, damage_at_rest),
    "damage under way": (14, damage_under_way),
    "full disk": (8, full_disk),
    "small files": (3, small_files),
    "read-only": (3, read_only),
    "not allowed": (4, not_allowed),
    "slow store": (2, slow_store),
    "network": (12, network),
    "the same version at the same time": (4, same_version_beside),
    "another version at the same time": (4, other_version_beside),
    "moved clock": (3, moved_clock),
}
"""By name: how often it is drawn among the others, and what it does."""

REAL_KINDS: dict[str, Kind] = {
    "kill": (3, kill),
    "damage": (3, damage_at_rest),
    "damage under way": (3, damage_under_way),
    "full disk": (2, full_disk),
    "read-only": (1, read_only),
    "moved clock": (1, moved_clock),
}
"""Those by the `corpus` command itself, whose storage by Dagster is then hurt, too."""

ON_ITS_OWN_DISK = ("full disk", "read-only")
"""Of which the root has to be a file system of its own, where this user may mount one."""
