"""python -m tests.fuzz TARGET --seconds N: fuzz one reader for N seconds of the processor.

With atheris (the extra `fuzz`) inputs grow by what they reach in the readers' code; without it, or with --blind, they
are seeded mutations of the seeds. Inputs that break the reader are written to --out; the exit code is 1 then. A native
library that ends the process leaves its input as `<target>-last.bin`.
"""

import argparse
import hashlib
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

INSTRUMENTED = ["formats", "corpus_assets", "yaml", "tarfile", "zipfile"]
"""Packages; atheris knows no parts of one."""
_KERNELS = Path(__file__).resolve().parents[2] / "corpus_assets" / "kernels"
COMPILED = [
    f"corpus_assets.kernels.{path.stem}" for path in sorted(_KERNELS.glob("*.py")) if "njit" in path.read_text()
]
"""But for these modules: numba compiles their bytecode, and does not know what atheris puts into it."""


class Session:
    """Runs inputs, counts them and their processor time, and keeps those that broke the reader."""

    def __init__(self, target: Any, hold: Any, seconds: float, out: Path) -> None:
        self.target, self.seconds, self.out = target, seconds, out
        self._hold, self._begun = hold, time.process_time()
        self.executions = self.taken = 0
        self.faults: set[str] = set()
        out.mkdir(parents=True, exist_ok=True)
        self._last = (out / f"{target.name}-last.bin").open("wb")

    @property
    def spent(self) -> float:
        return time.process_time() - self._begun

    def run(self, data: bytes) -> None:
        self._last.seek(0)
        self._last.truncate()
        self._last.write(data)
        self._last.flush()
        self.executions += 1
        with tempfile.TemporaryDirectory(prefix="corpus-fuzz-") as folder:
            try:
                self.taken += self._hold(self.target, data, Path(folder))
            except Exception as error:
                self._keep(data, error)

    def _keep(self, data: bytes, error: Exception) -> None:
        """One input a place that raised."""
        trace, place = error.__traceback__, ""
        while trace:
            place, trace = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}", trace.tb_next
        kind = f"{type(error).__name__} at {place}"
        if kind in self.faults:
            return
        self.faults.add(kind)
        path = self.out / f"{self.target.name}-{hashlib.sha256(data).hexdigest()[:8]}.bin"
        path.write_bytes(data)
        print(f"{self.target.name}: {kind}: {str(error)[:200]!a}; input: {path}", flush=True)

    def report(self) -> int:
        self._last.close()
        with suppress(OSError):
            Path(self._last.name).unlink()
        refused = self.executions - self.taken
        counts = f"{self.executions} executions ({self.taken} taken, {refused} refused)"
        print(
            f"{self.target.name}: {counts} in {self.spent:.0f} s of the processor, {len(self.faults)} faults",
            flush=True,
        )
        return int(bool(self.faults))


def blind(session: Session, seed: int) -> None:
    from tests.fuzz import mutate

    rng, target, pool = Random(seed), session.target, list(session.target.seeds)
    for data in target.seeds:
        session.run(data)
    while session.spent < session.seconds:
        taken = session.taken
        data = mutate.mutated(rng, rng.choice(pool), target.seeds, target.words, is_json=target.is_json)
        session.run(data)
        if session.taken > taken and rng.random() < 0.02:  # what is still read leads further
            pool.append(data)


def guided(session: Session, seed: int, atheris: Any) -> None:
    from tests.fuzz import mutate

    target = session.target

    def one(data: bytes) -> None:
        session.run(data)
        if session.spent >= session.seconds:
            code = session.report()
            sys.stdout.flush()
            import os

            os._exit(code)

    def changed(data: bytes, max_size: int, number: int) -> bytes:
        rng = Random(number)
        if rng.random() < 0.5:
            return atheris.Mutate(data, max_size)
        return mutate.mutated(rng, data, target.seeds, target.words, is_json=target.is_json)[:max_size]

    with tempfile.TemporaryDirectory(prefix="corpus-fuzz-seeds-") as corpus:
        for i, data in enumerate(target.seeds):
            (Path(corpus) / str(i)).write_bytes(data)
        limits = [f"-max_len={mutate.MAX_BYTES}", "-rss_limit_mb=4096", "-timeout=600", f"-seed={seed}", "-verbosity=0"]
        atheris.Setup(
            [sys.argv[0], corpus, f"-artifact_prefix={session.out}/{target.name}-", *limits],
            one,
            custom_mutator=changed,
        )
        atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("target")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--blind", action="store_true", help="without coverage, whether atheris is there or not")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "corpus-fuzz")
    chosen = parser.parse_args()
    atheris: Any = None
    if not chosen.blind:
        with suppress(ImportError):
            import atheris
    if atheris:
        with atheris.instrument_imports(include=INSTRUMENTED, exclude=COMPILED):
            from tests.fuzz import hold

            if chosen.target in hold.names():
                hold.load(chosen.target)
    from tests.fuzz import hold

    if chosen.target not in hold.names():
        parser.error(f"no target {chosen.target}; there are {', '.join(hold.names())}")
    session = Session(hold.load(chosen.target), hold.hold, chosen.seconds, chosen.out)
    if atheris:
        guided(session, chosen.seed, atheris)
    else:
        print("without atheris: seeded mutations, no coverage", flush=True)
        blind(session, chosen.seed)
    return session.report()


if __name__ == "__main__":
    sys.exit(main())
