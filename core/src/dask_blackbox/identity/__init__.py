"""Job, run and attempt of this process, read from the host's environment.

No host is imported and no network is used: only the environment variables of Airflow, Prefect, a
CI service, a batch system or a shell are read.  If our package for that host is installed, it
adds what the environment lacks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from typing import Final

import msgspec

from dask_blackbox.guard import guard
from dask_blackbox.identity.commands import argv_of, started_as
from dask_blackbox.identity.hosts import (
    Identity,
    fresh_run_id,
    from_airflow,
    from_argo,
    from_flyte,
    from_github,
    from_gitlab,
    from_jenkins,
    from_kubeflow,
    from_kubernetes,
    from_prefect,
    from_shell,
    from_slurm,
)

__all__ = [
    "HOSTS",
    "Identity",
    "argv_of",
    "fresh_run_id",
    "identity_from_environment",
    "started_as",
]

HOSTS = (
    from_airflow,
    from_prefect,
    from_flyte,
    from_kubeflow,  # runs on Argo, so it is asked first
    from_argo,
    from_github,
    from_gitlab,
    from_jenkins,
    from_slurm,
    from_kubernetes,  # most of those above run there, so it is asked late
)
"""The hosts in the order in which they are tried; each returns an identity or None."""

_GROUP: Final = "dask_blackbox.identities"
"""Entry points by kind of host; each is called without arguments: an identity or None."""

_INCOMPLETE: Final = ("airflow",)
"""Hosts whose environment does not say all: of a mapped task, not which instance it is."""


def identity_from_environment(
    environ: Mapping[str, str] | None = None, argv: Sequence[str] | None = None
) -> Identity:
    """Return the identity of this process, as its host knows it.

    The settings `blackbox.job` and `blackbox.run-id` have the last word.

    Args:
        environ: The environment; None: this process's.
        argv: The command line; None: this process's.
    """
    own = environ is None
    from dask_blackbox.settings import setting  # imports dask

    environ = os.environ if environ is None else environ
    argv = sys.argv if argv is None else argv
    identity = next(
        (found for host in HOSTS if (found := host(environ, argv)) is not None), None
    ) or from_shell(environ, argv)
    kind = identity.host.get("kind")
    # If the host is not loaded, nothing here knows more: a task's command.
    if own and kind in _INCOMPLETE and kind in sys.modules:
        identity = _completed(identity)
    job, run_id = setting("job"), setting("run-id")
    return msgspec.structs.replace(
        identity,
        job=str(job) if job else identity.job,
        run_id=str(run_id) if run_id else identity.run_id,
    )


def _completed(identity: Identity) -> Identity:
    """Return an identity completed by the package for its host, if that is installed."""
    with guard("who this run is to its host"):
        for each in entry_points(group=_GROUP, name=str(identity.host["kind"])):
            found = each.load()()
            if isinstance(found, Identity):
                return found
    return identity
