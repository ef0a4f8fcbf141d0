"""One trial, a pure function of its seed: a root at some step of its build, one to three faults while it is built on,
and reruns by a person who does what the errors say, until the version is there with the bytes of an undisturbed build.
"""

import random
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from corpus_assets.commands.verify import verify_version
from formats.layout import Layout
from tests.fault_server import Answer
from tests.faultlab import damage, roots
from tests.faultlab.builds import Ended, How, Running, in_the_lab
from tests.faultlab.kinds import KINDS, ON_ITS_OWN_DISK, REAL_KINDS
from tests.faultlab.lab import INPUTS, LOCAL, SERVED, SITE, V1, WHOLE, Lab, mount, served, unmount
from tests.faultlab.remedies import Person, UnclearError, follow
from tests.faultlab.results import (
    AFTER_KILL,
    AFTER_REMEDY,
    AT_ONCE,
    EDITED,
    LATE,
    WRONG,
    Given,
    Hurt,
    Result,
    WrongError,
)

MOST_RERUNS = 8
ONE_COLD_IN = 300
"""Of the seeds whose trials are `corpus build`: a process that loads everything takes as long as what it then does."""


def every_intermediate(lab: Lab) -> list[Given]:
    """Each file that a step writes, right after that step and before all others, without its last byte and with one
    byte flipped; of the variant behind a server what only that one has.
    """
    found = []
    for variant in (LOCAL, SERVED):
        golden = lab.golden(variant)
        for step, (before, after) in enumerate(pairwise(golden.states), 1):
            for name, file in after.files.items():
                if file.content and before.files.get(name) != file and (variant == LOCAL or "cache/" in name):
                    found += [Given(variant, step, name, way) for way in (damage.CUT_BY_A_BYTE, damage.FLIPPED)]
    return found


class Trial:
    """`run` gives the result; nothing is raised but for a fault of the lab itself."""

    def __init__(self, lab: Lab, seed: int, *, real: bool = False, given: Given | None = None) -> None:
        self.lab, self.seed, self.real, self.given = lab, seed, real, given
        self.kinds = REAL_KINDS if real else KINDS
        self.draw = random.Random(f"faultlab {seed}")
        self.root = lab.scratch / "trial" / "root"
        self.log = lab.scratch / "trial" / "log"
        self.hurt: set[str] = set()
        self.hurt_on_the_way: set[str] = set()
        """Of these, what was hurt while the last build ran."""
        self.lifts: list[tuple[tuple[str, ...], Callable[[], None]]] = []
        self.edited = False

    def run(self) -> Result:
        began = time.monotonic()
        faults = self._planned()
        again = "--every-intermediate" if self.given else f"{self.seed} --real-every {int(self.real)}"
        result = Result(self.seed, f"{self.variant}, found before step {self.step}", again)
        with ExitStack() as self.at_end:
            self._lay_out(any(kind in ON_ITS_OWN_DISK for kind in faults))
            try:
                for kind in faults:
                    result.faults.append(Hurt(kind))
                    self.kinds[kind][1](self, result.faults[-1])
                    if self.edited:
                        break
                if not self.edited:
                    self._recover(result)
            except (WrongError, UnclearError) as error:
                result.wrong = f"{type(error).__name__}: {error}"
                result.faults[-1].outcome = WRONG
        result.seconds = time.monotonic() - began
        return result

    def _planned(self) -> list[str]:
        """Draw where it begins, and what comes over it."""
        if self.given:
            self.golden, self.step = self.lab.golden(self.given.variant), self.given.step
            self.variant = self.given.variant
            return ["damage"]
        number = 1 if self.real else self.draw.choices((1, 2, 3), (6, 3, 1))[0]
        weights = [weight for weight, _ in self.kinds.values()]
        faults = self.draw.choices(list(self.kinds), weights, k=number)
        self.variant = SERVED if "network" in faults or self.draw.random() < 0.3 else LOCAL
        if self.real:
            self.variant = WHOLE
        self.golden = self.lab.golden(self.variant)
        self.step = self._first_step(faults[0])
        return faults

    def _first_step(self, kind: str) -> int:
        """At which step the root is found. Early where something must be left to do."""
        last = len(self.golden.names)
        if kind == "kill of a process below":
            return self.golden.state_of("minhash_signatures") + 1
        if kind == "network":
            return self.draw.randrange(self.golden.state_of("raw_fetch"))
        if kind.startswith("damage") or kind == "kill":
            return self.draw.randrange(last + (kind != "kill"))
        return min(self.draw.randrange(last), self.draw.randrange(last))

    def _lay_out(self, mounted: bool) -> None:
        if self.root.is_mount():
            unmount(self.root)
        roots.empty(self.root)
        if mounted and self.lab.can_mount:
            mount(self.root, "size=64m")
            self.at_end.callback(unmount, self.root)
        self.golden.states[self.step].lay_out(self.root)

    # What a fault is made of.

    def how(self, **more: object) -> How:
        """How the next build is run."""
        cold = self.real and self.seed % ONE_COLD_IN == ONE_COLD_IN - 1
        return replace(How(workers=self.draw.choice((1, 1, 2)), real=self.real, cold=cold), **more)

    def moment(self) -> int:
        """A change of the disk between now and the end."""
        events = self.golden.events
        left = events[-1] - events[self._reached()] + 40
        return 1 + int(self.draw.random() * left * (1.4 if self.real else 1))

    def _reached(self) -> int:
        """How many steps are done, also where an earlier fault let the build go on: a later one else comes too late."""
        for step, (before, after) in enumerate(pairwise(self.golden.states)):
            if not all((self.root / name).exists() for name in after.files.keys() - before.files.keys()):
                return step
        return len(self.golden.names)

    def build(
        self,
        fault: Hurt,
        how: How,
        at_stop: Callable[[Running], None] | None = None,
        scripts: dict[str, list[Answer]] | None = None,
    ) -> Ended:
        """Build once, hurt at the moment that `how` asks for; judge what lies there then, and note the outcome."""
        self.hurt_on_the_way = set()
        with served(self.golden.files, scripts) as proxy:
            how = replace(how, proxy=how.proxy or proxy)
            if how.in_the_lab:
                ended = in_the_lab(self.root, how, self.log)
            else:
                running = Running(self.root, how, self.log)
                if running.stopped():
                    (at_stop or (lambda _: None))(running)
                    running.go_on()
                elif how.stops:
                    fault.detail += " (after the end)"
                ended = running.end()
        self.judge(fault, ended)
        return ended

    def judge(self, fault: Hurt, ended: Ended) -> None:
        fault.words = ended.words[-3000:]
        if ended.code is None:
            raise WrongError(f"it hangs: {ended.words[-500:]}")
        if ended.code == -signal.SIGKILL:
            fault.outcome = AFTER_KILL
        elif ended.code == 0:
            fault.outcome = self._compare()
        elif ended.code in (1, 2):
            fault.outcome = AFTER_REMEDY
            self._look_at(ended)
        else:
            raise WrongError(f"exit code {ended.code}: {ended.words[-2500:]}")
        self._nothing_false_lies_there()
        if fault.outcome == AFTER_REMEDY:
            follow(ended.words, self._person())

    def _look_at(self, ended: Ended) -> None:
        if "Traceback" in ended.words:
            raise WrongError(f"a traceback: {ended.words[-2500:]}")
        inside = str(self.root) in ended.words or "http://" in ended.words or ".jsonl" in ended.words
        if "a worker process died" in ended.words:
            return  # which no file is to blame for
        if self.hurt and not self.lifts and SITE not in ended.words:
            inside = any(self._names(name, ended.words) for name in self.hurt)
        if not inside:
            raise WrongError(f"the error names no file that is hurt ({sorted(self.hurt)}): {ended.words[-2500:]}")

    def _names(self, name: str, words: str) -> bool:
        """Whether words name the file, or the folder it is in."""
        path = Path(name)
        return path.name in words or str(self.root / path.parent) in words

    # What must hold, whatever happened.

    def _compare(self) -> str:
        """Raise unless the version is there with the bytes of a build at one go, of the inputs as they are now."""
        found, expected = roots.published(self.root, V1), self.golden.published[V1]
        if found == expected:
            if left := roots.left_over(self.root, V1):
                raise WrongError(f"left over after a build: {left}")
            return AT_ONCE
        if self._inputs_changed():
            self.edited = True
            expected = self._built_at_one_go()
            if found == expected:
                return EDITED
        differ = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
        if set(differ) <= self.hurt_on_the_way:
            self._hold_verify_to_naming(differ)
            return LATE
        raise WrongError(f"exit code 0, and other bytes than golden: {differ}")

    def _hold_verify_to_naming(self, hurt: list[str]) -> None:
        """No build sees what happens after its last look at a file. So it may end well with a published file that was
        hurt while it ran, and with nothing else changed, if `corpus verify` names that file; the reruns, which are not
        hurt, then have to end with the bytes of golden.
        """
        report = verify_version(Layout(self.root), V1)
        told = "\n".join(problem for check in report.checks for problem in check.problems)
        if unnamed := [name for name in hurt if str(self.root / name) not in told]:
            raise WrongError(f"exit code 0, and `corpus verify` does not name what is damaged: {unnamed}: {told}")

    def _inputs_changed(self) -> bool:
        first = self.golden.states[0].files
        for name, file in first.items():
            path = self.root / name
            if name.startswith(INPUTS) and not (path.is_file() and path.read_bytes() == file.content):
                return True
        return False

    def _built_at_one_go(self) -> dict[str, str]:
        """Of a new root with the inputs as they are now."""
        other = self.lab.scratch / "trial" / "edited"
        roots.empty(other)
        self.golden.states[0].lay_out(other)
        for name in self.golden.states[0].files:
            path = self.root / name
            (other / name).unlink()
            if path.is_file():
                (other / name).write_bytes(path.read_bytes())
        with served(self.golden.files) as proxy:
            in_the_lab(other, How(proxy=proxy), self.log)
        return roots.published(other, V1)

    def _nothing_false_lies_there(self) -> None:
        """Finished names hold finished things: unless the lab hurt them, with the bytes of golden."""
        if self.edited:
            return
        for folder, files in roots.outputs(self.root).items():
            expected = self.golden.outputs.get(folder)
            if expected is None:
                inputs_hurt = any(name.startswith((*INPUTS, "corpus/work/ledger_entry/")) for name in self.hurt)
                if not inputs_hurt:  # else it is that of the other inputs, which may be mended by now
                    raise WrongError(f"an output that no build has: {folder}")
                continue
            wrong = {name for name in files.keys() | expected.keys() if files.get(name) != expected.get(name)}
            if wrong and not self._is_hurt_below(folder):
                raise WrongError(f"{folder} is found, with other bytes: {sorted(wrong)}")
        if self._is_locked() and not self._is_hurt_below("corpus/starter"):
            found, expected = roots.published(self.root, V1), self.golden.published[V1]
            late = ("datasheet.html", "DATASHEET.md", "TRAINING_CONTENT.md", "differences.html", "_EVIDENCE.json")
            differ = [name for name in expected if found.get(name) != expected[name] and not name.endswith(late)]
            if differ and not self._inputs_changed():
                raise WrongError(f"published, with other bytes: {differ}")

    def _is_hurt_below(self, folder: str) -> bool:
        return any(name == folder or name.startswith(folder + "/") for name in self.hurt)

    def _is_locked(self) -> bool:
        return Layout(self.root).lock(V1).is_file()

    # A person.

    def _person(self) -> Person:
        return Person(self.root, self._restore, self._lift)

    def _restore(self, path: Path) -> bool:
        if self.root not in path.parents:
            return True  # an address: the publisher's file is right again
        content = self.golden.copy_of(path.relative_to(self.root).as_posix())
        if content is None:
            return False
        if path.is_dir():
            path.rmdir()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return True

    def _lift(self, asked: str) -> bool:
        for words, undo in list(self.lifts):
            if any(word in asked for word in words):
                undo()
                self.lifts.remove((words, undo))
                return True
        return False

    def _recover(self, result: Result) -> None:
        """Reruns without a fault; each error is followed. Conditions that no error spoke of are over by now."""
        for _, undo in self.lifts:
            undo()
        self.lifts.clear()
        for _ in range(MOST_RERUNS):
            result.reruns += 1
            again = Hurt("rerun")
            if self.build(again, self.how()).code == 0:
                if again.outcome == EDITED:
                    result.faults[-1].outcome = EDITED
                return
            for fault in result.faults:
                if fault.outcome in (AT_ONCE, LATE) or (fault.outcome == AFTER_KILL and "damage" in fault.kind):
                    fault.outcome, fault.words = AFTER_REMEDY, again.words
        raise WrongError(f"{MOST_RERUNS} reruns, each with its remedy, and still: {again.words}")
