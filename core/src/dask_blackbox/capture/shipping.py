"""Sends capture to a cluster on which dask-blackbox is not installed.

A plugin is sent as the *source text* of these modules, in a pickle that refers only to
builtins.  Pickling by value would send bytecode, which another minor version of Python
cannot run; pickling by name would need our modules to be installed there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any

from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.protocol.pickle import dumps

# In the order in which they import each other.
_MODULES = (
    "rpc_handlers",
    "source_files",
    "worker.ring",
    "redaction",
    "masked_values",
    "logs",
    "user_frames",
    "exceptions",
    "replacements",
    "programs",
    "os_calls",
    "files",
    "bytecode",
    "own_modules",
    "scheduler.code_hashes",
    "process",
    "memory_limits",
    "nanny.worker_exit",
    "executions",
    "scheduler.inventory",
    "worker.bundle_file",
    "worker.task_pickling",
    "worker.task_bundles",
    "nanny.worker_watcher",
    "worker.process_load",
    "worker.wrapped_results",
    "worker.side_effects",
    "worker.opened_files",
    "worker.actor_methods",
    "printed_lines",
    "worker.fault_stacks",
    "worker.worker",
    "overload",
    "nanny.native_stacks",
    "nanny.nanny",
    "scheduler.row_buffer",
    "scheduler.samples",
    "scheduler.graphs",
    "scheduler.ownership",
    "scheduler.nanny_checks",
    "scheduler.plugin_registration",
    "scheduler.stalls",
    "scheduler.task_files",
    "scheduler.dask_events",
    "scheduler.requested_ends",
    "scheduler.scheduler",
)

_BOOT = '''
import sys, threading, types

def make(package, sources, module, name, config, boot=None):
    """Build the package from source text, each module once, and make one object of it."""
    root = types.ModuleType(package)
    root.__path__ = []
    # What it takes to make the same package in a child process.
    root.shipment = {"package": package, "sources": ()}
    root.boot = boot
    root.building = threading.RLock()
    # Two schedulers in one process may get a plugin at once, each in a thread of its own.
    root = sys.modules.setdefault(package, root)
    held = root.building.acquire(timeout=30)  # a fork may have copied it while it was held
    try:
        build(root, sources)
    finally:
        if held:
            root.building.release()
    return getattr(sys.modules[package + "." + module], name)(**config)

def build(root, sources):
    """Build the modules that no other plugin in this process has brought."""
    package = root.__name__
    missing = [each for each in sources if package + "." + each[0] not in sys.modules]
    try:
        for part, source in missing:
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
        for part, source in missing:
            sys.modules.pop(package + "." + part, None)
        raise
    root.shipment["sources"] += tuple(missing)
'''

_MAKE = "(exec(boot, names), names['make'](package, sources, module, name, config, boot))[1]"


_IMPORT = re.compile(r"^\s*from (\.+)([\w.]*) import (\(?[\w, ]*)", re.MULTILINE)
"""An import of ours: the dots, the module, and names that may be modules themselves."""


@cache
def _sources() -> tuple[str, dict[str, str]]:
    here = resources.files(__package__ or "dask_blackbox.capture")
    sources = {
        m: here.joinpath(f"{m.replace('.', '/')}.py").read_text("utf-8")
        for m in _MODULES
    }
    digest = hashlib.sha256(repr((_BOOT, sources)).encode()).hexdigest()[:12]
    return f"_dask_blackbox_capture_{digest}", sources


@cache
def _needed_by(module: str) -> tuple[tuple[str, str], ...]:
    """Return the sources of a module and of what it imports, which are half of them."""
    _, sources = _sources()
    needed, found = set(), {module}
    while found:
        needed |= found
        found = {each for one in found for each in _imported_by(one)} - needed
    return tuple((each, sources[each]) for each in _MODULES if each in needed)


def _imported_by(module: str) -> Iterator[str]:
    _, sources = _sources()
    for dots, named, names in _IMPORT.findall(sources[module]):
        folder = module.split(".")[: -len(dots)]
        home = ".".join([*folder, *([named] if named else [])])
        for name in names.replace(" ", "").split(","):
            inside = f"{home}.{name}" if home else name
            if inside in sources:
                yield inside
        if home in sources:
            yield home


def _reduced(module: str, name: str, config: dict[str, object]) -> tuple[object, ...]:
    package, _ = _sources()
    scope = {
        "boot": _BOOT,
        "names": {},
        "package": package,
        "sources": _needed_by(module),
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
