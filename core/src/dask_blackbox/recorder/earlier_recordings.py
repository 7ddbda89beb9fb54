"""Is there anything of earlier recordings to upload or to finish?  Nearly always there is not.

Asked as a recording begins, without loading what the work itself takes: tables, rules and
reports are half of a recorder's memory.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from dask_blackbox.layout import RunAddress
from dask_blackbox.reader.documents import last_heartbeat
from dask_blackbox.reader.listing import marked_runs
from dask_blackbox.recorder.spool_manifest import Spooled, spooled_in
from dask_blackbox.store import Store

_LOOKED_AT = 20

SILENT = 300.0
"""Seconds without a sign of life after which a recording is finished by another recorder.

More than it takes to be called lost: a store that was away for a minute is no death, though
whoever lives on after all would write over what we say."""


def waiting_beside(own: Path, settings: Mapping[str, object]) -> list[Spooled]:
    """Return what earlier recordings of this machine left for the same store.

    Args:
        own: The spool folder of the recording that this process makes.
    """
    return [
        each
        for each in spooled_in(own.parent).ready
        # Its own is among them where nothing can be locked.
        if each.folder != own and each.settings.get("url") == settings.get("url")
    ]


def silent_runs(store: Store, own: RunAddress) -> Iterator[RunAddress]:
    """Yield the last recordings of the same job that have no end and are silent.

    Args:
        own: Address of the recording that this process makes.

    Raises:
        StoreError: if the store cannot be read.
    """
    for entry in islice(marked_runs(store, job=own.job), _LOOKED_AT):
        if entry.state != "running" or entry.address == own:
            continue
        seen = last_heartbeat(store, entry.address.folder) or entry.started
        if time.time() - seen >= SILENT:
            yield entry.address
