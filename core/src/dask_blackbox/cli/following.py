"""Reading a run in progress again and again, until it has ended."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # heavy
    from dask_blackbox.reader import Run
    from dask_blackbox.store import Store

__all__ = ["snapshots_of"]


def snapshots_of(store: Store, run: Run, interval: float) -> Iterator[Run]:
    """Yield the recording as it is now, every so many seconds; at last when it has ended."""
    from dask_blackbox.reader import Run

    yield run
    while run.state == "running":
        time.sleep(interval)
        run = Run.at(store, run.folder)
        yield run
