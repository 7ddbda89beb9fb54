"""Leaving the sketch of a run in the store, by whoever comes to know how it ended."""

from __future__ import annotations

from dask_blackbox.analyse import Case
from dask_blackbox.analyse.sketching import facts_of_sketch, sketch_of
from dask_blackbox.card import RunCard
from dask_blackbox.errors import StoreError
from dask_blackbox.layout import RunAddress, read_sketch_name, sketch_name
from dask_blackbox.run_tables import RunTables
from dask_blackbox.sketch import Sketch, packed
from dask_blackbox.store import Store


def write_sketch(store: Store, run: RunTables, card: RunCard) -> str | None:
    """Write the sketch of a run that has ended; return its name, None if it goes on.

    One that was made when less was known gives way to it.  Twice is as good as once.

    Raises:
        StoreError: if the store does not accept it.
    """
    if card.state == "running":
        return None
    return put_sketch(store, sketch_of(Case(run), card.verdict))


def put_sketch(store: Store, sketch: Sketch) -> str:
    """Write a sketch and return its name.

    Raises:
        StoreError: if the store does not accept it.
    """
    address = RunAddress.of(sketch.job, sketch.run_id, sketch.attempt)
    name = sketch_name(address, sketch.started, sketch.state, **facts_of_sketch(sketch))
    store.put(name, packed(sketch), content_type="application/gzip")
    for old in sketches_of(store, address, sketch.started):
        if old != name:
            try:
                store.delete(old)
            except StoreError:  # who lists them takes the one that knows more
                continue
    return name


def sketches_of(store: Store, address: RunAddress, started: float) -> list[str]:
    """Return the names of the sketches of one attempt; more than one is rare."""
    prefix = sketch_name(address, started, "").rstrip("~") + "~"
    return [
        name
        for name in store.names(prefix)
        if (reported := read_sketch_name(name)) and reported.address == address
    ]
