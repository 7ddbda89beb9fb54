"""A second set held out: starts, environments and hangs, as met in the field.

Written by somebody who had read no rule and no other story.  What came out the first time
is written down in `heldout.json`, and stays.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import (
    Client,
    Event,
    LocalCluster,
    Lock,
    Queue,
    as_completed,
    get_client,
)
from distributed.security import Security
from staging import Stage, delayed
from staging import failure as any_failure

failure = partial(any_failure, held_out="second")


@failure(
    "environment-mismatch",
    "module-not-shipped",
    names=["geotoolz", "buffer"],
    why="a package of the driver that the workers do not have, imported in the task",
)
def a_package_is_imported_inside_of_a_task(stage: Stage) -> None:
    def buffer(number: int) -> Any:
        import geotoolz  # type: ignore[import-not-found]

        return geotoolz.buffer(number)

    with stage.started(2) as (client, _):
        stage.package("geotoolz", "def buffer(n):\n    return n + 1\n", "3.2")
        client.gather(client.map(buffer, range(4)))


@failure("environment-mismatch", names=["gridlib", "2.0|1.0|Grid2"], hang=True)
def workers_have_an_older_package(stage: Stage) -> None:
    new = "class Grid2:\n    def __init__(self, n):\n        self.n = n\n"
    older = stage.package("gridlib", "class Grid:\n    pass\n", "1.0")
    sys.path.remove(str(older))
    newer = stage.package("gridlib", new, "2.0")
    path = os.environ.get("PYTHONPATH", "")

    def cells(grid: Any) -> int:
        return int(grid.n)

    with stage.started(
        2,
        shell=f"export PYTHONPATH={older}:{path}",
        environment={"PYTHONPATH": f"{newer}:{path}"},
    ) as (client, _):
        import gridlib  # type: ignore[import-not-found]

        client.submit(cells, gridlib.Grid2(3)).result(timeout=20)


@failure("environment-mismatch", names=["pricing", "quote"], noise="one of three only")
def one_worker_of_three_is_of_another_image(stage: Stage) -> None:
    folder = stage.package("pricing", "def quote(n):\n    return n * 2\n", "0.4")
    path = f"{folder}:{os.environ.get('PYTHONPATH', '')}"

    def quote(number: int) -> Any:
        import pricing  # type: ignore[import-not-found]

        time.sleep(0.3)
        return pricing.quote(number)

    with stage.started(2, environment={"PYTHONPATH": path}) as (client, cluster):
        cluster.environment.clear()
        cluster.start_worker("--nthreads", "1")
        client.wait_for_workers(3, timeout=30)
        client.gather(client.map(quote, range(30)))


@failure("module-not-shipped", names=["house_rules", "apply_rules"])
def a_sibling_of_the_script_is_imported_in_a_task(stage: Stage) -> None:
    @delayed
    def apply_rules(number: int) -> Any:
        from house_rules import check  # type: ignore[import-not-found]

        return check(number)

    with stage.started(2):
        stage.module("house_rules", "def check(n):\n    return n > 1\n")
        dask.compute(*[apply_rules(n) for n in range(4)])


@failure("module-not-shipped", names=["units_table", "conversions"])
def an_uploaded_file_imports_its_neighbour(stage: Stage) -> None:
    with stage.started(1) as (client, _):
        stage.module("units_table", "FACTOR = 1.609\n")
        file = stage.module(
            "conversions",
            "from units_table import FACTOR\n\ndef to_km(n):\n    return n * FACTOR\n",
        )
        client.upload_file(str(file))

        def convert(number: int) -> Any:
            import conversions  # type: ignore[import-not-found]

            return conversions.to_km(number)

        client.gather(client.map(convert, range(3)))


@failure(
    "module-not-shipped",
    "graph-not-deserializable",
    names="flow_steps",
    why="the scheduler is the first that meets the module that was not shipped",
)
def steps_of_a_flow_live_in_a_file_of_their_own(stage: Stage) -> None:
    with stage.started(2):
        stage.module("flow_steps", "def clean(row):\n    return row.strip()\n")
        import flow_steps  # type: ignore[import-not-found]

        db.from_sequence([" a", "b "], npartitions=2).map(flow_steps.clean).compute()


@failure("cannot-connect", names="10.255.255.1|8786", how="command")
def an_address_behind_a_firewall(stage: Stage) -> None:
    async def main() -> None:
        async with Client("tcp://10.255.255.1:8786", asynchronous=True, timeout=6):
            pass

    asyncio.run(main())


@failure("cannot-connect")
def the_configured_address_is_nobodys(stage: Stage) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        stage.recording(),
        dask.config.set(
            {
                "scheduler-address": f"tcp://127.0.0.1:{port}",
                "distributed.comm.timeouts.connect": "5s",
            }
        ),
        Client() as client,
    ):
        client.submit(sum, [1, 2]).result()


@failure("tls-misconfigured", names="tls|certificate|ssl")
def the_client_has_another_authority(stage: Stage) -> None:
    theirs, ours = Security.temporary(), Security.temporary()
    with (
        LocalCluster(
            n_workers=1, security=theirs, dashboard_address=None, protocol="tls"
        ) as cluster,
        stage.recording(),
        Client(cluster.scheduler_address, security=ours, timeout=6) as client,
    ):
        client.submit(sum, [1, 2]).result()


@failure("tls-misconfigured", names="tls|certificate|ssl")
def the_client_brings_no_certificate(stage: Stage) -> None:
    with (
        LocalCluster(
            n_workers=1,
            security=Security.temporary(),
            dashboard_address=None,
            protocol="tls",
        ) as cluster,
        stage.recording(),
        Client(cluster.scheduler_address, timeout=6) as client,
    ):
        client.submit(sum, [1, 2]).result()


@failure("workers-never-arrived", names=["1|one", "4|four"])
def one_worker_of_four_arrives(stage: Stage) -> None:
    with stage.started(1) as (client, _):
        client.wait_for_workers(4, timeout=8)
        client.submit(sum, [1, 2]).result()


@failure("worker-start-failed", names="LICENCE_SERVER|preload|Nanny failed")
def a_preload_misses_its_variable(stage: Stage) -> None:
    preload = stage.folder / "licence.py"
    preload.write_text("import os\n\nSERVER = os.environ['LICENCE_SERVER']\n")
    with (
        stage.recording(),
        LocalCluster(
            n_workers=1, preload=[str(preload)], dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        client.submit(sum, [1, 2]).result(timeout=20)


@failure("no-valid-worker", names=["denoise", "GPU"], hang=True)
def an_annotation_asks_for_a_gpu(stage: Stage) -> None:
    def denoise(block: Any) -> Any:
        return block + 1

    with (
        stage.local(2) as client,
        dask.config.set({"optimization.fuse.active": False}),
    ):
        with dask.annotate(resources={"GPU": 1}):
            array = da.ones((8, 8), chunks=(4, 4)).map_blocks(denoise, dtype=float)
        client.compute(array.sum(), optimize_graph=False).result(timeout=15)


@failure(
    "no-valid-worker",
    names=["archive", "node17"],
    settings={"distributed.scheduler.no-workers-timeout": "5s"},
)
def the_name_of_a_node_is_misspelt(stage: Stage) -> None:
    def archive(number: int) -> int:
        return number

    with stage.started(2) as (client, _):
        client.gather(client.map(archive, range(3), workers=["node17.cluster.local"]))


_KEPT: list[Any] = []


@failure(
    "workers-paused",
    names=["paused"],
    hang=True,
    settings={
        "distributed.worker.memory.terminate": False,
        "distributed.worker.memory.spill": False,
    },
)
def a_library_leaks_native_memory(stage: Stage) -> None:
    def unpack(number: int) -> int:
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        libc.malloc.argtypes = [ctypes.c_size_t]
        block = libc.malloc(60 * 2**20)
        ctypes.memset(block, 1, 60 * 2**20)
        time.sleep(0.5)
        return number

    with stage.local(2, memory_limit="450MiB") as client:
        frame = client.map(unpack, range(40))
        for done in as_completed(frame, timeout=25):
            done.result()


@failure(
    "disk-full",
    "workers-paused",
    names="spill|disk|paused",
    hang=True,
    settings={
        "distributed.worker.memory.max-spill": "60MiB",
        "distributed.worker.memory.terminate": False,
    },
    why="no space to spill is allowed any more, so all workers pause",
)
def all_that_may_be_spilled_is_spilled(stage: Stage) -> None:
    def block(number: int) -> Any:
        time.sleep(0.3)
        return np.random.default_rng(number).random(30 * 2**17)

    with stage.local(2, memory_limit="450MiB") as client:
        held = client.map(block, range(40))
        for done in as_completed(held, timeout=30):
            assert done.status == "finished"


@failure("nested-client-deadlock", names=["month", "day"], hang=True)
def tasks_wait_for_tasks_on_all_threads(stage: Stage) -> None:
    def day(number: int) -> int:
        return number + 1

    def month(number: int) -> int:
        futures = get_client().map(day, range(number * 40, number * 40 + 30))
        return sum(each.result() for each in as_completed(futures))

    with stage.local(2) as client:
        client.submit(sum, client.map(month, range(4))).result(timeout=16)


@failure("too-many-open-files", names=["open_shards"])
def temporary_files_are_never_closed(stage: Stage) -> None:
    def open_shards(number: int) -> int:
        kept = _KEPT
        kept.extend(tempfile.TemporaryFile() for _ in range(60))  # noqa: SIM115
        return len(kept)

    with stage.started(1, shell="ulimit -n 160") as (client, _):
        client.gather(client.map(open_shards, range(8)))


@failure("stalled", names="write_partition", hang=True)
def a_lock_is_held_by_a_finished_task(stage: Stage) -> None:
    def write_partition(number: int) -> int:
        Lock("table").acquire()
        return number

    with stage.local(2) as client:
        for each in client.map(write_partition, range(4)):
            each.result(timeout=8)


@failure("stalled", names="consume", hang=True)
def a_queue_that_nobody_fills(stage: Stage) -> None:
    def consume(number: int) -> Any:
        return Queue("orders", client=get_client()).get()

    with stage.local(2) as client:
        Queue("orders", client=client)
        futures = client.map(consume, range(3))
        for each in as_completed(futures, timeout=16):
            each.result()


@failure("stalled", names="await_signal", hang=True)
def a_dataframe_waits_for_an_event(stage: Stage) -> None:
    def await_signal(frame: pd.DataFrame) -> pd.DataFrame:
        Event("inputs-are-complete").wait()
        return frame

    with stage.started(2) as (client, _):
        frame = dd.from_pandas(pd.DataFrame({"n": range(20)}), npartitions=3)
        made = frame.map_partitions(await_signal, meta=frame._meta)
        client.compute(made).result(timeout=16)


@failure(
    "unknown",
    "driver-exception",
    how="command",
    why="another program fails with an exit code and no message",
)
def a_tool_called_by_the_driver_ends_it(stage: Stage) -> None:
    with stage.local(1) as client:
        client.gather(client.map(lambda n: n, range(3)))
        os._exit(Path("/bin/false").exists() * 4)
