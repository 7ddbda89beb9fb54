"""A cluster of others: a scheduler and a worker with a nanny, and what is registered in them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
from conditions import scaled, until
from distributed import Client

__all__ = ["State", "cluster_of_others", "state_of", "unchanged"]

State = dict[str, Any]

_COMMANDS = ("dask_scheduler", "dask_worker")


@contextlib.contextmanager
def cluster_of_others(
    folder: Path, *options: str, python: str | Path = sys.executable, **environment: str
) -> Iterator[str]:
    """Start a cluster and give its address.

    Args:
        folder: Where its files lie.
        options: More of the scheduler's command line.
        python: The interpreter of its environment.
        environment: More variables of scheduler and worker.
    """
    file, log = folder / "scheduler.json", folder / "cluster.log"
    here = ("--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file))
    more = (("--port", "0", *options), ("--nthreads", "2"))
    with contextlib.ExitStack() as stack:
        for command, own in zip(_COMMANDS, more, strict=True):
            process = subprocess.Popen(
                [str(python), "-m", f"distributed.cli.{command}", *here, *own],
                stdout=stack.enter_context(log.open("ab")), stderr=subprocess.STDOUT,
                cwd=folder, env={**os.environ, **environment}, start_new_session=True,
            )  # fmt: skip
            stack.callback(process.wait)
            stack.callback(os.killpg, process.pid, signal.SIGKILL)
            until(file.exists, "the scheduler")
        yield str(json.loads(file.read_text())["address"])


def state_of(address: str) -> dict[str, State]:
    """Return what is registered in scheduler, nanny and worker, by process."""
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    try:
        with Client(address, set_as_default=False, timeout=scaled(60)) as client:
            client.wait_for_workers(1, timeout=scaled(60))
            (worker,) = client.run(_state).values()
            (nanny,) = client.run(_state, nanny=True).values()
            return {
                "scheduler": client.run_on_scheduler(_state),
                "worker": worker,
                "nanny": nanny,
            }
    finally:
        cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]


def unchanged(address: str, before: dict[str, State]) -> bool:
    """Wait until a cluster is as it was; what differs is the error's text."""
    found: dict[str, Any] = {}

    def same() -> bool:
        found.clear()
        found.update(_differences(before, state_of(address)))
        return not found

    try:
        return bool(until(same, "the cluster as it was"))
    except AssertionError as error:
        raise AssertionError(f"left in the cluster: {found}") from error


def _differences(before: dict[str, State], after: dict[str, State]) -> dict[str, Any]:
    return {
        f"{process}: {name}": (before[process][name], value)
        for process, state in after.items()
        for name, value in state.items()
        if before[process][name] != value
    }


def _state(
    dask_scheduler: Any = None, dask_worker: Any = None
) -> State:  # pragma: no cover - it runs in processes of others
    """Return what can be registered in this process, in a form that can be compared.

    Without the modules of capture: nothing refers to them, and code that refers to its own module
    may still be on its way out.  Nor those of a scheduler that its owner lets record.
    """
    import importlib
    import logging
    import os
    import signal
    import sys
    import threading

    import dask.config

    def named(objects: Any) -> list[str]:
        return sorted(str(each) for each in objects)

    def origin(function: Any) -> str:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        return f"{getattr(function, '__module__', '')}.{name} at {id(function)}"

    server = dask_scheduler or dask_worker
    loggers = [logging.getLogger()] + [
        each
        for each in map(logging.getLogger, sorted(logging.root.manager.loggerDict))
        # Prefect gives each of its own loggers a filter when it is first used.
        if (each.handlers or each.filters) and not each.name.startswith("prefect")
    ]
    hooked = {
        "sys": "excepthook unraisablehook exit displayhook stdout stderr",
        "threading": "excepthook Thread",
        "os": "_exit system kill killpg remove unlink rename replace rmdir chdir fchdir fork",
        "shutil": "rmtree",
        "builtins": "__import__ open print",
        "io": "open",
        "logging": "getLogger Logger",
        "subprocess": "Popen",
        "socket": "socket",
        "pickle": "dumps loads",
    }
    methods = {
        "logging.Logger": "handle _log callHandlers makeRecord",
        "subprocess.Popen": "__init__ wait poll communicate",
        "asyncio.base_subprocess.BaseSubprocessTransport": "_process_exited",
        "fsspec.spec.AbstractFileSystem": "open",
        "distributed.Worker": "execute log_event close",
        "distributed.Scheduler": "close transition log_event",
        "distributed.Nanny": "close kill instantiate",
        "threading.Thread": "run start",
    }
    found = {
        "plugins": named(server.plugins),
        "handlers": named(server.handlers),
        "stream handlers": named(server.stream_handlers),
        "callbacks": named(server.periodic_callbacks),
        "worker plugins": named(getattr(server, "worker_plugins", ())),
        "nanny plugins": named(getattr(server, "nanny_plugins", ())),
        "topics": named(
            each
            for each in getattr(getattr(server, "_broker", None), "_topics", ())
            if "blackbox" in each
        ),
        "import hooks": [origin(each) for each in sys.meta_path],
        "logging": {
            each.name: (
                [type(one).__qualname__ for one in each.handlers],
                [type(one).__qualname__ for one in each.filters],
                each.level,
            )
            for each in loggers
        },
        "record factory": origin(logging.getLogRecordFactory()),
        "signals": [
            origin(signal.getsignal(each)) for each in sorted(signal.valid_signals())
        ],
        "threads": named(
            each.name
            for each in threading.enumerate()
            if "blackbox" in each.name.lower()
        ),
        "configuration": repr(sorted(dask.config.collect().items()))
        + repr(sorted(dask.config.config)),
        "variables": named(each for each in os.environ if "BLACKBOX" in each.upper()),
        "modules": named(
            each
            for each in sys.modules
            if "blackbox" in each
            and not each.startswith("_dask_blackbox_capture_")
            and "dask_blackbox.preload" not in sys.modules
        ),
    }
    for module, names in hooked.items():
        owner = importlib.import_module(module)
        found[f"functions of {module}"] = [
            origin(getattr(owner, each)) for each in names.split()
        ]
    for path, names in methods.items():
        module, _, kind = path.rpartition(".")
        owner = getattr(importlib.import_module(module), kind)
        found[f"methods of {path}"] = [
            origin(getattr(owner, each)) for each in names.split()
        ]
    return found
