"""What is known of whoever reads our output: columns and colours."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console

if TYPE_CHECKING:  # heavy
    from dask_blackbox.reader import Run
    from dask_blackbox.store import Store


class Screen(NamedTuple):
    """How to print.

    Attributes:
        width: Columns of the terminal; None where the output goes elsewhere.
        colour: Whether colours are wanted: not on a dumb terminal, nor with NO_COLOR.
    """

    width: int | None
    colour: bool


def screen() -> Screen:
    """Return how to print on standard output."""
    console = Console()
    if not console.is_terminal:
        return Screen(None, colour=False)
    plain = console.no_color or console.is_dumb_terminal
    return Screen(console.width, colour=not plain)


def snapshots_of(store: Store, run: Run, interval: float) -> Iterator[Run]:
    """Yield the recording as it is now, every so many seconds; at last when it has ended."""
    from dask_blackbox.reader import Run

    yield run
    while run.state == "running":
        time.sleep(interval)
        run = Run.at(store, run.folder)
        yield run
