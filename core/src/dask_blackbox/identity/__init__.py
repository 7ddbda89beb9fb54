"""Job, run and attempt of this process, read from the host's environment.

No host is imported and no network is used: only environment variables are read, and a few small
files of the machine.  If our package for that host is installed, it adds what the environment
lacks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import PurePath
from typing import Final

import msgspec

from dask_blackbox.guard import guard
from dask_blackbox.identity.commands import argv_of, started_as, time_limit_of
from dask_blackbox.identity.scheduler import Seen, identity_of, number, seen
from dask_blackbox.identity.schedulers import SCHEDULERS
from dask_blackbox.identity.tools import script_of
from dask_blackbox.identity.values import Identity, filled, fresh_run_id

__all__ = [
    "SCHEDULERS",
    "Identity",
    "argv_of",
    "fresh_run_id",
    "identity_from_environment",
    "started_as",
    "time_limit_of",
]

_GROUP: Final = "dask_blackbox.identities"
"""Entry points by kind of host; each is called without arguments: an identity or None."""

_INCOMPLETE: Final = ("airflow",)
"""Hosts whose environment does not say all: of a mapped task, not which instance it is."""


def identity_from_environment(
    environ: Mapping[str, str] | None = None, argv: Sequence[str] | None = None
) -> Identity:
    """Return the identity of this process, as its host knows it.

    The settings `blackbox.job`, `blackbox.run-id`, `blackbox.attempt` and `blackbox.leg` have
    the last word.

    Args:
        environ: The environment; None: this process's.
        argv: The command line; None: this process's.
    """
    own = environ is None
    environ = os.environ if environ is None else environ
    identity = _from_host(environ, sys.argv if argv is None else argv)
    kind = identity.host.get("kind")
    # If the host is not loaded, nothing here knows more: a task's command.
    if own and kind in _INCOMPLETE and kind in sys.modules:
        identity = _completed(identity)
    return _as_set(identity)


def _from_host(environ: Mapping[str, str], argv: Sequence[str]) -> Identity:
    """Return what the innermost scheduler says that names the job or the run."""
    found: dict[str, Seen] = {}
    for row in SCHEDULERS:
        if row.kind not in found and (each := seen(row, environ, argv)) is not None:
            found[row.kind] = each
    if not found:
        return _from_shell(environ, argv)
    named = (each for each in found.values() if each.job or each.run)
    first = next(named, None) or next(iter(found.values()))
    around = [each for each in found.values() if each is not first]
    return identity_of(first, script_of(argv), around)


def _from_shell(environ: Mapping[str, str], argv: Sequence[str]) -> Identity:
    """Name the job after the script or the notebook, and the run after its moment."""
    script = script_of(argv)
    notebook = environ.get("JPY_SESSION_NAME")
    kernel = script == "ipykernel_launcher"
    if kernel:
        script = PurePath(notebook).stem if notebook else "notebook"
    return Identity(
        job=script or "python",
        run_id=fresh_run_id(),
        host=filled(
            kind="notebook" if kernel else "shell",
            job_from="notebook" if kernel else "script",
            # A scheduler that `SCHEDULERS` does not know.
            unknown_scheduler="CI" if environ.get("CI") else None,
            user=environ.get("USER") or environ.get("LOGNAME"),
        ),
    )


def _as_set(identity: Identity) -> Identity:
    """Return an identity with what the settings say instead."""
    from dask_blackbox.settings import setting  # imports dask

    job, run_id, leg = setting("job"), setting("run-id"), setting("leg")
    host = dict(identity.host)
    if job:
        host.pop("job_from", None)
    if leg:
        host["leg"] = str(leg)
    name = str(job) if job else identity.job
    return msgspec.structs.replace(
        identity,
        job=f"{name}.{leg}" if leg else name,
        run_id=str(run_id) if run_id else identity.run_id,
        attempt=max(number(str(setting("attempt") or ""), identity.attempt), 1),
        host=host,
    )


def _completed(identity: Identity) -> Identity:
    """Return an identity completed by the package for its host, if that is installed."""
    with guard("who this run is to its host"):
        for each in entry_points(group=_GROUP, name=str(identity.host["kind"])):
            found = each.load()()
            if isinstance(found, Identity):
                return found
    return identity
