"""What a plugin brings with it to a process that has never heard of us."""

import ast
import importlib.util
import logging
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dask_blackbox.capture import logs, shipping

PLUGINS = {
    "worker.worker": "WorkerCapture",
    "nanny.nanny": "NannyCapture",
    "scheduler.scheduler": "SchedulerCapture",
}


def imported(module: str, text: str) -> set[str]:
    """Return the names that a module's relative imports may mean, by Python's own parser."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = module.split(".")[: -node.level]
            home = [*folder, *([node.module] if node.module else [])]
            found.add(".".join(home))
            found |= {".".join([*home, each.name]) for each in node.names}
    return found


@pytest.mark.parametrize("module", [*PLUGINS, "nanny.worker_watcher"])
def test_a_plugin_brings_all_that_it_imports_in_order(module: str) -> None:
    _, everything = shipping._sources()

    brought = dict(shipping._needed_by(module))

    here: set[str] = set()
    for name, text in brought.items():
        later = (imported(name, text) & everything.keys()) - here
        assert later <= {name}, f"{name} imports {later} before it is there"
        here.add(name)
    assert module in here


def test_a_plugin_leaves_at_home_what_it_does_not_import() -> None:
    _, everything = shipping._sources()

    assert len(shipping._needed_by("nanny.nanny")) < len(everything) / 4
    assert "scheduler.scheduler" not in dict(shipping._needed_by("worker.worker"))


def test_a_second_plugin_adds_its_modules_to_those_of_the_first() -> None:
    package, _ = shipping._sources()
    config = {"name": "a tap", "recording": "a recording"}
    worker = config | {"ring_bytes": 65_536, "stdout": False}

    nanny_plugin = pickle.loads(shipping.shipped("nanny.nanny", "NannyCapture", config))
    before = sys.modules[f"{package}.nanny.worker_exit"]
    worker_plugin = pickle.loads(
        shipping.shipped("worker.worker", "WorkerCapture", worker)
    )

    assert type(nanny_plugin).__name__ == "NannyCapture"
    assert type(worker_plugin).__name__ == "WorkerCapture"
    assert sys.modules[f"{package}.nanny.worker_exit"] is before
    named = [name for name, _ in sys.modules[package].shipment["sources"]]
    assert len(named) == len(set(named))
    assert "worker.worker" in named


def a_copy_of_the_module() -> Any:
    """Return the module once more, as workers and schedulers get it from the driver."""
    spec = importlib.util.spec_from_file_location(
        f"{logs.__package__}.logs_that_were_sent", logs.__file__
    )
    assert spec is not None
    assert spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    return copy


def test_taps_of_two_copies_that_end_in_any_order_wrap_the_logger_once_each() -> None:
    before: Any = logging.Logger.callHandlers
    sent = a_copy_of_the_module()
    rows: list[list[Any]] = []

    for number in range(5):
        taps = [
            module.LogTap(
                f"{number} {module.__name__}", "worker", lambda role: "w", rows.append
            )
            for module in (logs, sent)
        ]
        for tap in taps:
            tap.attach("job")
        logging.getLogger("job").warning("number %d", number)
        for tap in taps:  # the first one is below the other
            tap.detach()

    hook: Any = logging.Logger.callHandlers
    depth = 0
    while hook is not before:
        depth, hook = depth + 1, hook._below
    assert depth <= 2
    assert len(rows) == 10
    logging.Logger.callHandlers = before  # type: ignore[method-assign]


_AT_ONCE = """
import pickle, sys, threading
from pathlib import Path

blob = Path(sys.argv[1]).read_bytes()
sys.setswitchinterval(1e-6)
gate, errors = threading.Barrier(8), []

def load():
    gate.wait()
    try:
        pickle.loads(blob)
    except ImportError as error:
        errors.append(repr(error))

threads = [threading.Thread(target=load) for _ in range(8)]
[each.start() for each in threads]
[each.join() for each in threads]
print(*errors, sep="\\n", end="")
"""


def test_plugins_that_arrive_at_once_do_not_meet_half_a_module(tmp_path: Path) -> None:
    blob = tmp_path / "plugin"
    blob.write_bytes(shipping.shipped("exceptions", "qualified", {"kind": int}))

    done = subprocess.run(
        [sys.executable, "-c", _AT_ONCE, str(blob)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == ""
