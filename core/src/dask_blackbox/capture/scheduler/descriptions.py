"""What scheduler and workers are: versions, sizes, places, settings."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any, Mapping

from ..ancestry import ancestry

if TYPE_CHECKING:
    # Only describe arguments.
    from distributed import Scheduler
    from distributed.scheduler import WorkerState


def scheduler_facts(scheduler: Scheduler) -> dict[str, object]:
    """Return the particulars of `scheduler-info`."""
    from dask import config
    from distributed.versions import get_versions

    versions = get_versions()
    packages = versions.get("packages") or {}
    return {
        **ancestry(),
        "host": socket.gethostname(),
        "dask": packages.get("dask"),
        "distributed": packages.get("distributed"),
        "python": _python_of(versions),
        "packages": packages,
        "config": config.config,
        "dashboard": _dashboard(scheduler),
    }


def worker_facts(ws: WorkerState) -> dict[str, object]:
    """Return the particulars of `worker-added`."""
    versions = getattr(ws, "versions", None) or {}
    return {
        "name": str(ws.name),
        "host": ws.host,
        "pid": ws.pid,
        "nanny": ws.nanny,
        "nthreads": ws.nthreads,
        "memory_limit": ws.memory_limit,
        "resources": ws.resources,
        "local_directory": ws.local_directory,
        "python": _python_of(versions),
        "packages": versions.get("packages", versions),
    }


def _python_of(versions: Mapping[str, Any]) -> str | None:
    packages = versions.get("packages") or {}
    python = packages.get("python") or versions.get("python")
    if python is None:
        python = dict(versions.get("host") or {}).get("python")
    return None if python is None else str(python)


def _dashboard(scheduler: Scheduler) -> str | None:
    port = (getattr(scheduler, "services", None) or {}).get("dashboard")
    number = getattr(port, "port", None)
    host = str(scheduler.address).split("://", 1)[-1].rsplit(":", 1)[0]
    return None if number is None else f"http://{host}:{number}/status"
