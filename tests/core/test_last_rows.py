"""What workers send last: it comes by another connection than the answer that it is removed."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import dask
import pytest
from dask_blackbox import Run, recording
from distributed import Client, LocalCluster
from scenario_runs import messages

pytestmark = pytest.mark.processes

LATE = 0.7


def _speak_while_the_connection_is_slow(dask_worker: Any) -> None:
    stream = dask_worker.batched_stream
    send = stream.send
    stream.send = lambda *sent: dask_worker.loop.call_later(LATE, send, *sent)
    logging.getLogger("distributed.worker").warning(
        "the last line of %s", dask_worker.name
    )


def test_the_last_lines_of_a_worker_with_a_slow_connection_are_recorded(
    tmp_path: Path,
) -> None:
    with (
        dask.config.set({"blackbox.spool": str(tmp_path / "spool")}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
        recording(client, store=tmp_path / "store", job="slow") as rec,
    ):
        client.submit(sum, [1, 2]).result()
        client.run(_speak_while_the_connection_is_slow)

    run = Run.open(rec.card.links["recording"])
    lines = messages(run.logs, "the last line of")
    assert sorted(lines) == ["the last line of 0", "the last line of 1"]
    assert rec.card.completeness["complete"]
