"""The host's task in whose process the user's code records, and its clusters' time limits.

A host's package names a function by an entry point of the group `dask_blackbox.host_tasks`, with
the host's name in the run's identity.  It is called only where the host is loaded: a command that
a task starts has not loaded it, and importing it there would take seconds.
Recordings that the host's package makes itself do not use it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol

from dask_blackbox.guard import guard

if TYPE_CHECKING:
    from dask_blackbox.card import RunCard
    from dask_blackbox.driver.session import Recording
    from dask_blackbox.store import StoreChoice

GROUP = "dask_blackbox.host_tasks"
"""The group of entry points; each is called without arguments: a `HostTask` or None."""


class HostTask(Protocol):
    """The task of a host, for one recording made in it.  Its errors are handled as ours."""

    def place(self, given: StoreChoice) -> StoreChoice:
        """Return the store of a recording with what the host's configuration adds.

        Args:
            given: As `recording` was given it.
        """

    def begins(self, recording: Recording, settings: Mapping[str, object]) -> None:
        """Handle the start of a recording.

        Args:
            settings: Of its store, all that is known.
        """

    def ends(
        self, recording: Recording, exception: BaseException | None
    ) -> BaseException | None:
        """Return the exception if it is a failure of the run; called before the recording ends.

        Args:
            recording: Which; it may be given who stopped it.
            exception: What ended the work, if something did.
        """

    def ended(self, card: RunCard) -> None:
        """Handle the card of a finished recording."""


def host_task(kind: str) -> HostTask | None:
    """Return the task of a host that runs in this process; None: there is none.

    Args:
        kind: What the run's identity calls the host, which is its module's name.
    """
    if kind not in sys.modules:
        return None
    with guard("the host's task in this process"):
        for point in entry_points(group=GROUP, name=kind):
            found: HostTask | None = point.load()()
            return found
    return None


_SETTING = "distributed.deploy.lost-worker-timeout"
_DASKS, _OURS = "15s", "300s"


@contextmanager
def longer_worker_timeout() -> Iterator[None]:
    """Let clusters wait longer for a worker that restarts, unless the user set how long.

    Dask gives a worker 15 seconds to restart.  A worker that imports Airflow or Prefect needs
    longer on a busy machine; the cluster then closes it permanently, and a run that waits for its
    task hangs, where Dask would have failed the task after a few more deaths.
    Clusters read the setting when a worker leaves, so it is set for as long as they exist.
    """
    import dask.config
    import distributed  # noqa: F401 - it brings the defaults of its settings

    if dask.config.get(_SETTING, default=None) != _DASKS:
        yield
        return
    with dask.config.set({_SETTING: _OURS}):
        yield
