"""Scheduler and workers: versions, sizes, places, settings, packages and modules.

All installed packages are listed, not only those that Dask reports.

One worker of each host is asked, on a few hosts at most: workers of one cluster usually have
one image, and if not, the packages that Dask compares show it.  Equal lists are reported
once.  The report includes the image of each, and the settings that differ from the
scheduler's.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any, Callable, Mapping

from ..process import ancestry, environment, settings_and_image

if TYPE_CHECKING:
    # Only describe arguments.
    from distributed import Scheduler
    from distributed.scheduler import WorkerState


_HOSTS = 4
_ANSWERING = 20.0
_MOST = 100  # settings in which a worker differs
_COMPARED = 5  # sets of modules that other workers are asked for
_PEERS = 2


class Inventory:
    """Asks for packages, once for each host.

    Args:
        name: Of our plugins; workers answer to `<name>-packages` and `<name>-code`.
        report: Takes kind, subject and particulars of an event.
    """

    def __init__(
        self, scheduler: Scheduler, name: str, report: Callable[..., None]
    ) -> None:
        self._scheduler, self._name, self._report = scheduler, name, report
        self._hosts: set[str] = set()
        self._answering: dict[str, None] = {}  # workers that have our plugin
        self._compared: list[tuple[str, ...]] = []
        about = settings_and_image()
        self._settings, self._image = about["settings"], about["image"]
        self._reported: list[tuple[str, Any]] = []
        self._asking: set[asyncio.Future[None]] = set()
        self._begin(self._own())

    def ask(self, address: str) -> None:
        """Query a worker that has our plugin, if it is the first on its host.

        (One that has not would write the question into its log, as an error.)
        """
        self._answering[address] = None
        ws = self._scheduler.workers.get(address)
        host = "" if ws is None else str(ws.host)
        if ws is not None and host not in self._hosts and len(self._hosts) < _HOSTS:
            self._hosts.add(host)
            self._begin(self._ask(address, host))

    def compare(self, key: str, worker: str, modules: list[str]) -> None:
        """Ask other workers for modules that the traceback of a failed task names."""
        asked = (worker, *sorted(modules))
        if asked in self._compared or len(self._compared) >= _COMPARED:
            return
        self._compared.append(asked)
        there = self._scheduler.workers
        self._answering = {each: None for each in self._answering if each in there}
        peers = [each for each in self._answering if each != worker]
        for peer in peers[:_PEERS]:
            self._begin(self._ask_for_code(key, peer, modules))

    def stop(self) -> None:
        """Stop querying."""
        for asking in tuple(self._asking):
            asking.cancel()

    def _begin(self, work: Any) -> None:
        asking = asyncio.ensure_future(work)
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)

    async def _own(self) -> None:
        try:
            found = await asyncio.get_running_loop().run_in_executor(None, environment)
        except Exception:
            return
        self._report_once(
            "scheduler", str(self._scheduler.address), {**found, "image": self._image}
        )

    async def _ask(self, address: str, host: str) -> None:
        try:
            ask = getattr(self._scheduler.rpc(address), f"{self._name}-packages")
            found = dict(await asyncio.wait_for(ask(), _ANSWERING))
        except Exception:
            self._hosts.discard(host)  # another worker of it may answer
        else:
            self._report_once("worker", address, found)

    async def _ask_for_code(self, key: str, address: str, modules: list[str]) -> None:
        try:
            ask = getattr(self._scheduler.rpc(address), f"{self._name}-code")
            found = dict(await asyncio.wait_for(ask(modules=modules), _ANSWERING))
        except Exception:
            return
        if found.get("modules"):
            self._report("worker-code", key, worker=address, **found)

    def _report_once(self, role: str, address: str, found: dict[str, Any]) -> None:
        packages = {
            "packages": found.get("packages"),
            "image": found.get("image") or {},
            "config": self._unlike(found.get("settings") or {}),
        }
        if (role, packages) not in self._reported:
            self._reported.append((role, packages))
            self._report("packages", address, role=role, **packages)

    def _unlike(self, settings: dict[str, str]) -> dict[str, str | None]:
        """Return the settings that are not the scheduler's own."""
        own = self._settings
        if not settings or not own:
            return {}
        unlike = [
            name for name in {*own, *settings} if own.get(name) != settings.get(name)
        ]
        return {name: settings.get(name) for name in sorted(unlike)[:_MOST]}


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
