"""Sends capture to a cluster on which dask-blackbox is not installed.

A plugin is sent as the *source text* of these modules, in a pickle that refers only to
builtins.  Pickling by value would send bytecode, which another minor version of Python
cannot run; pickling by name would need our modules to be installed there.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import Any

from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.protocol.pickle import dumps

# In the order in which they import each other.
_MODULES = (
    "source_files",
    "worker.ring",
    "classes",
    "redaction",
    "masked_values",
    "logs",
    "users_frames",
    "working_directory",
    "programs",
    "os_calls",
    "files",
    "bytecode",
    "own_modules",
    "process_state",
    "scheduler.code_hashes",
    "nanny.worker_exit",
    "executions",
    "process",
    "scheduler.inventory",
    "worker.task_bundle",
    "worker.task_pickling",
    "worker.kept_tasks",
    "nanny.worker_watcher",
    "worker.process_load",
    "worker.task_threads",
    "worker.wrapped_results",
    "worker.failed_attempts",
    "worker.side_effects",
    "worker.printed_lines",
    "worker.worker",
    "nanny.nanny",
    "scheduler.row_buffer",
    "scheduler.attempts",
    "scheduler.measures",
    "scheduler.graphs",
    "scheduler.ownership",
    "scheduler.nanny_checks",
    "scheduler.plugin_registration",
    "scheduler.stalls",
    "scheduler.task_files",
    "scheduler.dask_events",
    "scheduler.scheduler",
)

_BOOT = '''
import sys, types

def make(package, sources, module, name, config, boot=None):
    """Build the package from source text, once per process, and make one object of it."""
    if package not in sys.modules:
        root = types.ModuleType(package)
        root.__path__ = []
        # What it takes to make the same package in a child process.
        root.shipment = {"package": package, "sources": sources}
        root.boot = boot
        sys.modules[package] = root
        try:
            for part, source in sources:
                parent, dot, last = part.rpartition(".")
                folder = root
                if parent:
                    folder = sys.modules.get(package + "." + parent)
                    if folder is None:
                        folder = types.ModuleType(package + "." + parent)
                        folder.__path__ = []
                        sys.modules[folder.__name__] = folder
                        setattr(root, parent, folder)
                made = types.ModuleType(folder.__name__ + "." + last)
                made.__package__ = folder.__name__
                sys.modules[made.__name__] = made
                code = compile(source, "<dask-blackbox " + part + ">", "exec")
                exec(code, made.__dict__)
                setattr(folder, last, made)
        except BaseException:
            for known in [n for n in sys.modules if n.split(".")[0] == package]:
                del sys.modules[known]
            raise
    return getattr(sys.modules[package + "." + module], name)(**config)
'''

_MAKE = "(exec(boot, names), names['make'](package, sources, module, name, config, boot))[1]"


@cache
def _sources() -> tuple[str, tuple[tuple[str, str], ...]]:
    here = resources.files(__package__ or "dask_blackbox.capture")
    sources = tuple(
        (m, here.joinpath(f"{m.replace('.', '/')}.py").read_text("utf-8"))
        for m in _MODULES
    )
    digest = hashlib.sha256(repr((_BOOT, sources)).encode()).hexdigest()[:12]
    return f"_dask_blackbox_capture_{digest}", sources


def _reduced(module: str, name: str, config: dict[str, object]) -> tuple[object, ...]:
    package, sources = _sources()
    scope = {
        "boot": _BOOT,
        "names": {},
        "package": package,
        "sources": sources,
        "module": module,
        "name": name,
        "config": config,
    }
    return (eval, (_MAKE, scope))


class ShippedScheduler(SchedulerPlugin):
    """What the client registers; on the scheduler it becomes `SchedulerCapture`."""

    def __init__(self, name: str, config: dict[str, object]) -> None:
        self.name = name
        self._config = config

    def __reduce__(self) -> tuple[object, ...]:
        return _reduced("scheduler.scheduler", "SchedulerCapture", self._config)


class _Shipped:
    def __init__(self, module: str, name: str, config: dict[str, object]) -> None:
        self._what = (module, name, config)

    def __reduce__(self) -> tuple[object, ...]:
        return _reduced(*self._what)


def shipped(module: str, name: str, config: dict[str, Any]) -> bytes:
    """Return the pickled `module.name(**config)` as the scheduler passes it to workers."""
    pickled: bytes = dumps(_Shipped(module, name, config))
    return pickled
