"""Finishing recordings that nobody was left to finish: their whole machine is gone.

What they had uploaded lies in the store; the next recording of the same job, on whichever
machine, diagnoses it from there, so that its card, its report and its place in the job's
history are there for people who never ask.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import msgspec

from dask_blackbox.analyse.state import last_sign_of_life
from dask_blackbox.errors import BlackboxError
from dask_blackbox.opened import Run, RunEntry, marked_runs
from dask_blackbox.record.finalise import finalise
from dask_blackbox.record.opening import Opening, links_of
from dask_blackbox.record.orders import Config, End
from dask_blackbox.record.outcome import Outcome

__all__ = ["adopt_the_lost"]

logger = logging.getLogger("dask_blackbox.record")

_LOOKED_AT = 20
_MOST_SEGMENTS = 200  # larger ones are diagnosed when somebody opens them
# Seconds of silence.  More than it takes to be called lost: a store that was away for a
# minute is no death, though whoever lives on after all would write over what we say.
_SILENT = 300.0


def adopt_the_lost(config: Config, own: Opening, stop: Callable[[], bool]) -> None:
    """Finish the lost ones among the last recordings of the same job.

    Args:
        config: Of the recording that this process makes.
        own: Where it lies.
        stop: Asked between two recordings.
    """
    store = own.store
    assert store is not None  # noqa: S101 - callers have opened it
    for entry in islice(marked_runs(store, job=own.manifest.job), _LOOKED_AT):
        if stop():
            return
        if entry.state != "running" or entry.address == own.address:
            continue
        try:
            _adopt(config, own, entry)
        except (BlackboxError, OSError, msgspec.MsgspecError) as error:
            logger.warning("%s stays lost: %s", entry.address.folder, error)


def _adopt(config: Config, own: Opening, entry: RunEntry) -> None:
    assert own.store is not None  # noqa: S101 - as above
    segments = f"{entry.address.folder}segments/"
    if len(list(own.store.names(segments, limit=_MOST_SEGMENTS))) == _MOST_SEGMENTS:
        return
    run = Run.at(own.store, entry.address)
    seen = last_sign_of_life(run)
    if run.ending is not None or time.time() - seen < _SILENT:
        return
    links = links_of(own.store, entry.address, config.link_expires)
    lost = Opening(run.manifest, own.store, None, links)
    outcome = Outcome(end=End(state="lost"), ended=seen, sources={})
    with tempfile.TemporaryDirectory(prefix="dbb-") as folder:
        theirs = msgspec.structs.replace(
            config, manifest=run.manifest, spool=str(Path(folder) / "spool"), socket=""
        )
        finalise(theirs, lost, outcome, lambda telling: None)
    logger.info("finished %s, which nobody else could", entry.address.folder)
