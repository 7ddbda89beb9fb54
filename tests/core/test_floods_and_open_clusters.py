"""What a card says of log lines when a task prints too many, and when a script leaves its cluster open."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conditions import scaled
from dask_blackbox import Run
from dask_blackbox.reader import list_runs
from dask_blackbox.store import open_store

pytestmark = pytest.mark.processes

LINES = 100_000
_LINES = re.compile(r"log lines?\b")
_NUMBER = re.compile(r"[0-9][0-9,]*")

FLOOD = f"""
import time
from dask_blackbox import recording
from distributed import Client, LocalCluster, get_worker

def talk():
    # Nothing is shipped meanwhile, however fast this machine prints and ships.
    get_worker().loop.add_callback(time.sleep, 5)
    for number in range({LINES}):
        print("line", number)

if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        with Client(cluster) as client, recording(client, job="flood"):
            client.submit(talk).result()
"""

OPEN = """
import logging
from dask_blackbox import recording
from distributed import Client, LocalCluster

def talk(number):
    print("line", number)
    logging.getLogger("job").warning("line %d", number)
    return number

if __name__ == "__main__":
    client = Client(LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0"))
    with recording(client, job="open"):
        assert sum(client.gather(client.map(talk, range(200)))) == 19900
"""


def recorded(script: str, folder: Path) -> tuple[Run, Any, str]:
    """Run a script; return its recording, what the card lacks, and what it printed."""
    path, store = folder / "script.py", folder / "store"
    path.write_text(script)
    done = subprocess.run(
        [sys.executable, str(path)],
        env=os.environ | {"DASK_BLACKBOX__STORE__URL": str(store)},
        capture_output=True,
        text=True,
        timeout=scaled(120),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [found] = list_runs(open_store(str(store)))
    run = Run.at(open_store(str(store)), found.address)
    card = json.loads(run.card().to_json())
    assert card["state"] == "succeeded"
    return run, card["completeness"], done.stdout + done.stderr


@pytest.mark.nightly
def test_a_flood_has_one_figure_of_what_is_lost_and_it_is_true(tmp_path: Path) -> None:
    run, completeness, _ = recorded(FLOOD, tmp_path)

    messages = run.logs["message"].to_list()
    kept = {text for text in messages if re.fullmatch(r"line \d+", text)}
    lost = LINES - len(kept)
    sentences = [
        sentence
        for each in completeness["missing"].values()
        for sentence in each
        if _LINES.search(sentence)
    ]
    [sentence] = sentences
    figures = [int(each.replace(",", "")) for each in _NUMBER.findall(sentence)]
    assert lost > 0
    # Dask's own lines of that time (its loop was blocked) may be among them.
    assert [0 <= figure - lost <= 5 for figure in figures] == [True], (sentence, lost)
    assert "row" not in " ".join(map(str, completeness["missing"].values()))


def test_a_script_that_leaves_its_cluster_open_loses_nothing(tmp_path: Path) -> None:
    run, completeness, printed = recorded(OPEN, tmp_path)

    messages = run.logs["message"].to_list()
    for number in range(200):
        assert messages.count(f"line {number}") == 2  # printed, and logged
    assert completeness["complete"] is True
    assert "cannot schedule new futures" not in printed
    assert not [text for text in messages if "cannot schedule new futures" in text]
