"""A plugin that fails on workers that are running: its own verdict, not a task's exception."""

from __future__ import annotations

import sys
from collections.abc import Callable

import msgspec
import pytest
from dask_blackbox import Run, RunCard
from dask_blackbox.finding import Finding
from runs_from_rows import (
    a_graph,
    a_run,
    a_worker,
    an_exception,
    failed_with,
    the_verdict,
)
from scenario_runs import SCENARIOS, Home, begin_command, ended

pytestmark = pytest.mark.processes

# As older versions of distributed raise it, which log nothing on the worker.
RAISED = """Traceback (most recent call last):
  File "/jobs/nightly.py", line 11, in main
    client.register_plugin({call})
  File "/v/site-packages/distributed/client.py", line 5123, in register_plugin
    return self._register_plugin(plugin, name, idempotent)
  File "/v/site-packages/distributed/client.py", line 5252, in _register_worker_plugin
    raise exc.with_traceback(tb)
  File "/v/site-packages/distributed/worker.py", line 1779, in plugin_add
    result = plugin.setup(worker=self)
  File "/jobs/plugins.py", line 5, in setup
    with open("/srv/prices.onnx"):
FileNotFoundError: [Errno 2] No such file or directory: '/srv/prices.onnx'
"""


def verdict(call: str, plugin: str | None = None) -> Finding:
    """Return the verdict on a driver that a plugin's error ended."""
    error = an_exception(
        "FileNotFoundError",
        "[Errno 2] No such file or directory: '/srv/prices.onnx'",
        traceback=RAISED.format(call=call),
    )
    error = msgspec.structs.replace(error, plugin=plugin)
    run = a_run(a_worker(), a_graph(), failed_with(error))
    return the_verdict(run)


def test_the_plugin_is_named_without_a_line_of_the_workers() -> None:
    found = verdict("plugin", "jobs.plugins.Loader")

    assert (found.rule, found.confidence) == ("worker-start-failed", "high")
    assert found.title.startswith(
        "The plugin 'Loader' failed in its setup: FileNotFoundError"
    )
    assert "at /jobs/plugins.py:5 in setup" in found.cause
    assert "Look at /jobs/plugins.py:5." in found.remedy


def test_an_older_recording_names_the_plugin_where_the_drivers_line_does() -> None:
    assert "The plugin 'Loader' failed" in verdict("Loader(size=3)").title
    assert "The plugin 'Loader' failed" in verdict("plugins.Loader()").title
    assert "The worker plugin failed" in verdict("plugin").title


@pytest.mark.nightly
def test_a_plugin_that_fails_on_a_running_worker_is_the_verdict(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    words = ["blackbox", "run", "--store", str(home.folder / "store")]
    words += ["--card", str(home.folder / "card.json"), "--"]
    words += [sys.executable, str(SCENARIOS / "plugin_fails.py")]
    finished = ended(home, begin_command(home, *words))
    assert finished.code == 1, finished.errors

    card = RunCard.from_json((home.folder / "card.json").read_bytes())
    assert card.verdict is not None
    assert (card.verdict.rule, card.verdict.confidence) == (
        "worker-start-failed",
        "high",
    )
    assert card.headline.startswith(
        "The plugin 'Loader' failed in its setup: FileNotFoundError"
    )
    ending = Run.open(card.links["recording"]).ending
    assert ending is not None
    assert ending.exception is not None
    assert ending.exception.plugin == "__main__.Loader"
