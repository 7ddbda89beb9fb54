"""What a plugin brings with it to a process that has never heard of us."""

import ast
import pickle
import sys

import pytest
from dask_blackbox.capture import shipping

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
