"""How long Prefect's server takes to be given the final states of lost task runs.

    .venvs/prefect/bin/python benchmarks/prefect_settling.py [--runs 201] [--rounds 3]

Starts a Prefect server.  Each round creates a flow run with that many running task runs, and
ends them in two ways, who comes first changing: one request after another, and as the
collection does.  Prints seconds, and the load.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "demo"))

from prefect_host import PrefectHost  # noqa: E402 - found by the line above

WAYS = ("one by one", "settle")


def main() -> None:
    """Measure rounds, and print their seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=201)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        host = PrefectHost(Path(folder) / "prefect")
        with host:
            # Before Prefect is imported.
            os.environ.update(host.environ)
            for number in range(asked.rounds):
                took = {
                    way: measured(way, asked.runs)
                    for way in WAYS[:: -1 if number % 2 else 1]
                }
                figures = ", ".join(f"{way} {took[way]:.2f} s" for way in WAYS)
                print(f"{figures}, load {os.getloadavg()[0]:.1f}", flush=True)


def measured(way: str, runs: int) -> float:
    """Return the seconds that it takes until all of these task runs are final."""
    # The environment in which types are checked has no Prefect.
    prefect: Any = import_module("prefect")
    states: Any = import_module("prefect.states")
    get_client: Any = import_module("prefect.client.orchestration").get_client
    settling: Any = import_module("prefect_dask_blackbox.final_states")

    def load() -> None: ...

    task = prefect.task(load)
    with get_client(sync_client=True) as client:
        flow_run = client.create_flow_run(prefect.flow(load, name="lost"))
        ids = [uuid4() for _ in range(runs)]
        for identity in ids:
            start(client, task, flow_run.id, identity, states.Running())
        dead = states.Crashed(message="Lost: its worker was killed.")
        began = time.perf_counter()
        if way == "settle":
            finals = [
                settling.FinalState(
                    id=each, name="load", task_key=task.task_key, state=dead
                )
                for each in ids
            ]
            ended = settling.settle(client, flow_run.id, finals)
        else:
            for identity in ids:
                client.set_task_run_state(identity, dead, force=True)
            ended = len(ids)
        took = time.perf_counter() - began
        final = settling.read_runs(client, ids).values()
        if ended != runs or any(run.state_type != dead.type for run in final):
            raise RuntimeError("some task runs have no final state")
    return took


def start(
    client: Any, task: Any, flow_run_id: UUID, identity: UUID, state: Any
) -> None:
    """Create a task run that is running."""
    client.create_task_run(
        task,
        flow_run_id=flow_run_id,
        dynamic_key=str(identity),
        id=identity,
        name="load",
        state=state,
    )


if __name__ == "__main__":
    main()
