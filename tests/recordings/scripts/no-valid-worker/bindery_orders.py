"""Bindery orders: plans the folding, sewing and casing-in of tomorrow's book orders.

Sewing and casing-in are simulated by programs of which one licence per worker exists; workers say so with a resource.
The plan has to be there before the shift starts, so the job does not wait for ever.
"""

import argparse
import configparser
import os
import subprocess
import sys
import tempfile
import time

from distributed import Client, wait

CONFIG = """
[cluster]
workers = 2
memory = 400MB

[folding]
seconds = 0.2

[sewing]
licence = sewing_licence
seconds = 0.4

[casing]
licence = casing-licence
seconds = 0.3

[shift]
patience = 9
"""

WORKER_RESOURCES = "sewing_licence=1 casing_licence=1"


def fold(order, seconds):
    time.sleep(seconds)
    return {"order": order, "sheets": 16 * (order % 7 + 4)}


def sew(folded, seconds):
    time.sleep(seconds)
    return {**folded, "sections": folded["sheets"] // 8}


def case_in(sewn, seconds):
    time.sleep(seconds)
    return {**sewn, "minutes": sewn["sections"] * 1.5 + 6}


def start(command, *options):
    return subprocess.Popen(
        [sys.executable, "-m", "dask", command, *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


def plan(client, config, orders):
    sewing, casing = config["sewing"], config["casing"]
    folded = client.map(fold, orders, seconds=config.getfloat("folding", "seconds"))
    sewn = client.map(
        sew,
        folded,
        seconds=sewing.getfloat("seconds"),
        resources={sewing["licence"]: 1},
    )
    cased = client.map(
        case_in,
        sewn,
        seconds=casing.getfloat("seconds"),
        resources={casing["licence"]: 1},
    )
    wait(sewn, timeout=30)
    print(f"sewing planned for {len(sewn)} orders", flush=True)
    wait(cased, timeout=config.getfloat("shift", "patience"))
    return client.gather(cased)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=6)
    options = parser.parse_args()
    config = configparser.ConfigParser()
    config.read_string(CONFIG)

    processes = []
    folder = tempfile.mkdtemp(prefix="bindery-")
    where = os.path.join(folder, "scheduler.json")
    try:
        processes.append(
            start(
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                where,
            )
        )
        for _ in range(config.getint("cluster", "workers")):
            processes.append(
                start(
                    "worker",
                    "--scheduler-file",
                    where,
                    "--nthreads",
                    "1",
                    "--no-dashboard",
                    "--memory-limit",
                    config["cluster"]["memory"],
                    "--resources",
                    WORKER_RESOURCES,
                    "--local-directory",
                    folder,
                )
            )
        with Client(scheduler_file=where, timeout=25) as client:
            client.wait_for_workers(len(processes) - 1, timeout=25)
            for row in plan(client, config, range(options.orders)):
                print(row)
    except TimeoutError:
        sys.exit("bindery: no plan before the shift, giving up")
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(10)


if __name__ == "__main__":
    main()
