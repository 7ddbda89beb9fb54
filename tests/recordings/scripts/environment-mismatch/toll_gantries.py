"""Rate the motorway's gantry passages on a small cluster of our own workers."""

import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

from dask.distributed import Client

log = logging.getLogger("tolls")

RELEASES = {
    "1.9": """
        VERSION = "1.9"
        print("gantry_rates", VERSION, flush=True)
        def rate(vehicle, km):
            return km * {"car": 0.0, "lorry": 0.19, "coach": 0.11}[vehicle]
    """,
    "2.3": """
        VERSION = "2.3"
        print("gantry_rates", VERSION, flush=True)
        def rate(vehicle, km, axles=2):
            return km * {"car": 0.0, "lorry": 0.19, "coach": 0.11}[vehicle] * (1 + 0.1 * (axles - 2))
    """,
}


def deploy(root):
    for version, text in RELEASES.items():
        folder = root / "releases" / version
        folder.mkdir(parents=True)
        (folder / "gantry_rates.py").write_text(textwrap.dedent(text))
    return root / "releases"


def rate_passages(chunk):
    import gantry_rates

    return sum(gantry_rates.rate(v, km, axles=axles) for v, km, axles in chunk)


def start(args, path):
    env = dict(
        os.environ,
        PYTHONPATH=os.pathsep.join([str(path), os.environ.get("PYTHONPATH", "")]),
    )
    return subprocess.Popen([sys.executable, "-m", "dask", *args], env=env)


def main():
    logging.basicConfig(level=logging.INFO)
    chunks = [
        [
            (("car", "lorry", "coach")[i % 3], 12.5 + i, 2 + i % 4)
            for i in range(n, n + 50)
        ]
        for n in range(8)
    ]
    with tempfile.TemporaryDirectory() as tmp:
        root = pathlib.Path(tmp)
        releases = deploy(root)
        sys.path.insert(0, str(releases / "2.3"))
        print("local estimate", round(rate_passages(chunks[0]), 2), flush=True)
        file = str(root / "scheduler.json")
        processes = [
            start(
                [
                    "scheduler",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    "0",
                    "--no-dashboard",
                    "--scheduler-file",
                    file,
                ],
                releases / "2.3",
            )
        ]
        processes += [
            start(
                [
                    "worker",
                    "--scheduler-file",
                    file,
                    "--nthreads",
                    "1",
                    "--no-dashboard",
                    "--name",
                    f"toll-{n}",
                ],
                releases / "1.9",
            )
            for n in range(2)
        ]
        try:
            with Client(scheduler_file=file, timeout=20) as client:
                client.wait_for_workers(2, timeout=20)
                tolls = client.gather(client.map(rate_passages, chunks))
                print("tolls", round(sum(tolls), 2))
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                process.wait(15)


if __name__ == "__main__":
    main()
