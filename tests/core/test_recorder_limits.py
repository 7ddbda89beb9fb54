"""A recording that cannot be diagnosed ends the process that tries, and harms no other run."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from conditions import until
from dask_blackbox.cli.doctor import _recorders_without_driver
from dask_blackbox.events import RecorderRestarted
from dask_blackbox.manifest import Manifest
from dask_blackbox.reader import find_run
from dask_blackbox.recorder.spool import Spool
from dask_blackbox.recorder.spool_folder import attempts_at, note_beginning
from dask_blackbox.store import open_store
from scenario_runs import Home, begin, begin_command, ended, run_scenario

pytestmark = pytest.mark.processes

RULE = """
from dask_blackbox import Page, Rule


def never(case):
    while case.run.manifest.job == "poisoned":
        try:
            sum(range(1_000_000))
        except BaseException:
            pass
    return iter(())


page = Page(detects="d", evidence="e", remedy="r", before="b", after="a")
rule = Rule(slug="never", title="t", question="q?", severity="notice", ask=never, page=page)
"""


def with_rule(home: Home, cpu: str = "3s") -> dict[str, str]:
    """Install a rule that never returns for runs of one job; return the environment."""
    folder = home.folder / "rules"
    info = folder / "never-1.dist-info"
    info.mkdir(parents=True)
    (folder / "never.py").write_text(RULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: never\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[dask_blackbox.rules]\nnever = never:rule\n"
    )
    return {
        "PYTHONPATH": str(folder),
        "DASK_BLACKBOX__RECORDER__FINALISE_CPU": cpu,
        "DASK_BLACKBOX__SPOOL": str(home.folder / "spool"),
    }


def leave(home: Home, store: str) -> Path:
    """Leave a recording in the spool, as a recorder that was killed does."""
    folder = home.folder / "spool" / "poisoned"
    spool = Spool(folder, "poisoned", "w")
    now = time.time()
    row = [now, "user-event", "topic", "{}"]
    spool.append("scheduler s", 1, now, {"event": [row]})
    spool.close_if_due(now=True)
    manifest = Manifest(recording="poisoned", job="poisoned", run_id="1", started=now)
    note_beginning(folder, manifest, {"url": store})
    return folder


def attempted(folder: Path, times: int) -> bool:
    return attempts_at(folder) == times


@pytest.mark.nightly
def test_a_recording_that_cannot_be_diagnosed_delays_no_other_and_is_put_aside(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    store = str(home.folder / "store")
    environment, folder = with_rule(home), leave(home, store)
    flag = home.folder / "flag"
    for attempt in (1, 2):
        process = begin(home, "healthy.py", store, str(flag), **environment)
        until(partial(attempted, folder, attempt), "an attempt")
        flag.touch()
        finished = ended(home, process)
        flag.unlink()
        home.quiet()

        assert finished.code == 0, finished.errors
        assert finished.card.state == "succeeded"
        assert finished.card.completeness["complete"] is True
        assert attempts_at(folder) == attempt

    doctor = ended(
        home, begin_command(home, "blackbox", "doctor", "--recorders", **environment)
    )
    assert doctor.code == 1
    assert "2 attempts to finish poisoned/1 ended early" in doctor.output

    synced = ended(home, begin_command(home, "blackbox", "sync", **environment))
    run = find_run(open_store(store), "poisoned/1")
    assert synced.code == 3, synced.errors
    assert run.events.height == 1
    card = open_store(store).get(f"{run.folder}card.json").decode()
    assert "could not be diagnosed, because 2 attempts" in card
    assert not folder.exists()

    doctor = ended(
        home, begin_command(home, "blackbox", "doctor", "--recorders", **environment)
    )
    # Others' recorders on this machine would be listed, too.
    [spool] = [line for line in doctor.output.splitlines() if " spool " in line]
    assert spool.startswith("✔"), doctor.output


def test_a_run_that_cannot_be_diagnosed_ends_with_a_card_that_says_so(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    store = str(home.folder / "store")
    environment = with_rule(home, cpu="2s") | {"DASK_BLACKBOX__JOB": "poisoned"}
    flag = home.folder / "flag"
    flag.touch()

    finished = ended(home, begin(home, "healthy.py", store, str(flag), **environment))

    assert finished.code == 0, finished.errors
    card = finished.card
    why = "could not be diagnosed, because it took more than 2.0 s of CPU time"
    assert card.state == "succeeded"
    assert why in card.completeness["missing"]["card"]
    run = find_run(open_store(store), "poisoned")
    assert why in open_store(store).get(f"{run.folder}card.json").decode()
    assert run.tasks.height
    assert not run.of(RecorderRestarted)
    assert [*(home.folder / "spool").glob("*/run.json")] == []


def test_a_recorder_is_ended_by_its_limit_and_by_sigterm_while_it_finalises(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    store = str(home.folder / "store")
    environment = with_rule(home, cpu="1 hour")
    environment["DASK_BLACKBOX__JOB"] = "poisoned"
    process = begin(home, "waiting.py", store, **environment)
    reported = home.folder / "reported.json"
    until(reported.exists, "the work", describe=process.poll)
    os.killpg(process.pid, signal.SIGKILL)
    ended(home, process)
    [spool] = until(lambda: [*(home.folder / "spool").glob("*/attempts")], "finalising")
    mine = set(home.processes())
    [(recorder, _)] = [each for each in _recorders_without_driver() if each[0] in mine]

    os.kill(recorder, signal.SIGTERM)
    home.quiet()

    assert spool.read_text() == "1"


def test_a_recorder_offers_itself_to_the_oom_killer_before_its_driver(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    finished = run_scenario(home, "healthy.py", str(home.folder / "store"))
    told = finished.reported

    assert told["recorder"]["oom"] > told["driver"]["oom"]
    assert told["recorder"]["nice"] == told["driver"]["nice"]
