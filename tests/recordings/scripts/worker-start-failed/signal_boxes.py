"""Occupancy of the railway blocks; the workers load the interlocking tables when they start."""

import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

from dask.distributed import Client

log = logging.getLogger("blocks")

PRELOAD = textwrap.dedent("""
    import json, os, pathlib

    TABLES = {}
    for name in os.environ["INTERLOCKINGS"].split(","):
        path = pathlib.Path(os.environ["INTERLOCKING_DIR"]) / f"{name}.json"
        TABLES[name] = {entry["block"]: entry["length"] for entry in json.loads(path.read_text())["blocks"]}

    def dask_setup(worker):
        worker.interlockings = TABLES
""")
BOXES = ["Abzw-Nord", "Hbf", "Gbf"]


def write_tables(folder):
    for n, box in enumerate(BOXES):
        rows = ",".join(
            f'{{"block": "{box}-{b}", "length": {400 + 30 * b + n}}}' for b in range(20)
        )
        text = f'{{"box": "{box}", "blocks": [{rows}]}}'
        (folder / f"{box}.json").write_text(text if box != "Gbf" else text[:611])


def occupancy(box):
    from dask.distributed import get_worker

    lengths = get_worker().interlockings[box]
    return box, sum(lengths.values())


def spawn(*args, env):
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *args, "--no-dashboard"], env=env
    )


def main():
    logging.basicConfig(level=logging.INFO)
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp)
        write_tables(folder)
        (folder / "interlocking_setup.py").write_text(PRELOAD)
        env = dict(os.environ, INTERLOCKINGS=",".join(BOXES), INTERLOCKING_DIR=tmp)
        file = str(folder / "cluster.json")
        processes = [
            spawn(
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--scheduler-file",
                file,
                env=env,
            )
        ]
        processes += [
            spawn(
                "worker",
                "--scheduler-file",
                file,
                "--nthreads",
                "1",
                "--name",
                f"block-{n}",
                "--death-timeout",
                "15",
                "--preload",
                str(folder / "interlocking_setup.py"),
                env=env,
            )
            for n in range(2)
        ]
        try:
            with Client(scheduler_file=file, timeout=20) as client:
                client.wait_for_workers(2, timeout=12)
                for box, metres in client.gather(client.map(occupancy, BOXES)):
                    print(box, metres)
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                process.wait(15)


if __name__ == "__main__":
    main()
