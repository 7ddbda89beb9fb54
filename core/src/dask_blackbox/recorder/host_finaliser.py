"""Corrects the host's own records of a run whose driver is gone.

A host's package names a function by an entry point of the group `dask_blackbox.finalisers`,
with the host's name in the run's identity.  The recorder calls it when the driver disappeared
without a message, after the card is final; so does any process that finishes a recording
whose recorder was lost.  It is idempotent, because the host may have corrected them itself.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import entry_points

from dask_blackbox.card import RunCard
from dask_blackbox.card_data import Overview
from dask_blackbox.events import Rows, TaskNamed, event_rows, of_kind
from dask_blackbox.manifest import Manifest

logger = logging.getLogger("dask_blackbox.recorder")

GROUP = "dask_blackbox.finalisers"
"""The group of entry points."""

Finaliser = Callable[[Manifest, RunCard, Sequence[TaskNamed], Overview | None], None]

PAUSES = (2.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""Seconds between the attempts of a recorder; no process waits for it.

The trouble that killed the driver may also overload or restart the host's server, and no later
process corrects the host's records.
"""

_MOST = 100_000


class HostTasks:
    """The host's names of a run's tasks, collected during the recording."""

    def __init__(self) -> None:
        self.tasks: list[TaskNamed] = []

    def add_rows(self, rows: Rows) -> None:
        """Collect names from the rows of a batch."""
        for at, kind, subject, detail in event_rows(rows):
            if kind == TaskNamed.kind and len(self.tasks) < _MOST:
                self.tasks.append(of_kind(TaskNamed, at, subject, detail))


def finalise_for_host(
    manifest: Manifest,
    card: RunCard,
    tasks: Iterable[TaskNamed],
    environment: Mapping[str, str] | None = None,
    overview: Overview | None = None,
    *,
    pauses: Sequence[float] = (),
) -> None:
    """Call the finaliser of the host that started a run, if its package is installed.

    Args:
        tasks: What the host calls its tasks.
        environment: What the host's client needs to know, as environment variables.
        overview: What the host's page shows beside the card.
        pauses: Seconds before each further attempt, where one failed.
    """
    kind = manifest.host_kind
    named = tuple(tasks)
    for point in entry_points(group=GROUP, name=kind) if kind else ():
        os.environ.update(environment or {})
        for pause in (0.0, *pauses):
            time.sleep(pause)
            try:
                finaliser: Finaliser = point.load()
                finaliser(manifest, card, named, overview)
            except Exception:
                logger.exception("cannot correct the run's state in %s", kind)
            else:
                logger.info("corrected the run's state in %s", kind)
                break
