"""What the recorder counts of the kernel's out-of-memory kills."""

from __future__ import annotations

import json

import pytest
from dask_blackbox.capture.nanny.worker_exit import oom_kills
from dask_blackbox.protocol.messages import End
from dask_blackbox.recorder.parent_process import KernelKills

pytestmark = pytest.mark.processes


def test_a_command_that_a_signal_ended_is_reported_with_its_signal() -> None:
    counts = {"oom_kills": 0} if oom_kills() is not None else {}

    rows = KernelKills().rows(End(state="aborted", exit_code=-9))

    ((_, kind, subject, detail),) = rows["event"]
    assert (kind, subject) == ("driver-ended", "driver")
    assert json.loads(detail) == {
        "state": "aborted", "exit_code": -9, "signal": 9, **counts,
    }  # fmt: skip


def test_a_shells_code_for_a_signal_is_one() -> None:
    ((*_, detail),) = KernelKills().rows(End(state="failed", exit_code=137))["event"]

    assert json.loads(detail)["signal"] == 9


def test_what_ended_by_itself_is_nothing_to_tell() -> None:
    assert KernelKills().rows(End(state="failed", exit_code=1)) == {}
    assert KernelKills().rows(End(state="succeeded")) == {}
