"""The loader as a torch dataset, with the state convention of torchdata. Needs torch (extra `torch`). Spec: loader.md.

Worker j of J serves every J-th step, so that torch, which takes from workers in turn, hands steps over in their order.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import IterableDataset, get_worker_info

from formats.errors import OrderError
from formats.loader.data_loader import DataLoader
from formats.loader.settings import ReadSettings, settings_of
from formats.run_record import RunRecord


class TokenDataset(IterableDataset):
    """A rank's batches of every step, as `{"step": int, "positions": (n,) int64, "tokens": (n, seq_len)}`.

    For `torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=J)`, whatever J, and for torchdata's
    StatefulDataLoader. `run`: the arguments of the loader; `dtype`: of the tokens, as the model takes them. Each
    iteration begins at the step of the state that was loaded last, or at 0. Raises what the loader raises.
    """

    def __init__(
        self,
        root: Path | str,
        snapshot_id: str,
        *,
        dtype: torch.dtype = torch.int64,
        settings: ReadSettings | None = None,
        **run: Any,
    ) -> None:
        self._where, self._run = (root, snapshot_id), run
        self._dtype, self._settings = dtype, settings_of(settings)
        self._first = 0
        self._batches: TokenBatches | None = None
        self._loader(1).close()  # what is wrong is said now, and not in a worker

    def __iter__(self) -> "TokenBatches":
        info = get_worker_info()
        worker, num_workers = (info.id, info.num_workers) if info else (0, 1)
        self._batches = TokenBatches(self._loader(num_workers), self._first, worker, num_workers, self._dtype)
        return self._batches

    def state_dict(self, step: int | None = None) -> dict[str, Any]:
        """The state before `step` is served: that of `DataLoader`, under any number of workers and ranks.

        Without `step` it is the step that this process serves next. A process whose workers serve does not know it:
        OrderError.
        """
        if step is not None:
            with self._loader(1) as loader:
                loader.seek(step)
                return loader.state_dict()
        if self._batches is None:
            raise OrderError('nothing was served by this process; name the step: state_dict(batch["step"] + 1)')
        return self._batches.state_dict()

    def load_state_dict(self, saved: Any) -> None:
        """Begin the next iteration where a state was saved. Raises OrderError as the loader does."""
        with self._loader(1) as loader:
            loader.load_state_dict(saved)
            self._first, self._batches = loader.step, None

    def run_record(self, before: RunRecord | None = None) -> RunRecord:
        """The record of a process that begins its next iteration here: that of `DataLoader`."""
        with self._loader(1) as loader:
            loader.seek(self._first)
            return loader.run_record(before)

    def __getstate__(self) -> dict[str, Any]:
        """For workers that are spawned: threads and open shards stay here."""
        return {**self.__dict__, "_batches": None}

    def _loader(self, num_workers: int) -> DataLoader:
        share = max(1, self._settings.prefetch_bytes // num_workers)
        return DataLoader(*self._where, settings=replace(self._settings, prefetch_bytes=share), **self._run)


class TokenBatches(Iterator[dict[str, Any]]):
    """The steps `first + worker`, `first + worker + num_workers`, …; its state is that of this worker."""

    def __init__(self, loader: DataLoader, first: int, worker: int, num_workers: int, dtype: torch.dtype) -> None:
        self.loader, self._every, self._dtype = loader, num_workers, dtype
        self._state: tuple[int, dict[str, Any]] | None = None
        loader.seek(first + worker, num_workers)

    def __next__(self) -> dict[str, Any]:
        batch = next(self.loader)
        tokens = torch.from_numpy(batch.tokens).to(self._dtype)
        return {"step": batch.step, "positions": torch.from_numpy(batch.positions), "tokens": tokens}

    def state_dict(self) -> dict[str, Any]:
        """Asked for twice a batch by torchdata: of the dataset, and of its iterator."""
        if self._state is None or self._state[0] != self.loader.step:
            self._state = (self.loader.step, self.loader.state_dict())
        return self._state[1]

    def load_state_dict(self, saved: Any) -> None:
        self.loader.load_state_dict(saved)
        self.loader.seek(self.loader.step, self._every)
