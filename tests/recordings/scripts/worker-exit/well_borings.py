"""Groundwater levels from the borings' strata logs, on one plain worker process."""

import argparse
import logging
import os
import pathlib
import subprocess
import sys
import tempfile

from dask.distributed import Client

log = logging.getLogger("borings")


def strata(boring):
    layers = [
        (("sand", 3.1), ("clay", 1.4), ("gravel", 5.0))[(boring + n) % 3]
        for n in range(6)
    ]
    if boring == 21:
        layers[2] = ("void", 0.0)
    return layers


class StrataParser:
    CONDUCTIVITY = {"sand": 1e-4, "clay": 1e-8, "gravel": 1e-2}

    def fatal(self, message):
        sys.stderr.write(f"strata: {message}\n")
        sys.stderr.flush()
        os._exit(66)

    def level(self, layers):
        head = 0.0
        for soil, thickness in layers:
            if soil not in self.CONDUCTIVITY:
                self.fatal(f"unknown soil class {soil!r}")
            head += thickness * (self.CONDUCTIVITY[soil] > 1e-6)
        return head


def ground_level(boring):
    return boring, round(StrataParser().level(strata(boring)), 2)


def launch(*args):
    return subprocess.Popen([sys.executable, "-m", "dask", *args, "--no-dashboard"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--borings", type=int, default=40)
    parser.add_argument("--minutes", type=float, default=0.2)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    with tempfile.TemporaryDirectory() as tmp:
        file = str(pathlib.Path(tmp) / "borings.json")
        processes = [
            launch(
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--scheduler-file",
                file,
            ),
            launch(
                "worker",
                "--no-nanny",
                "--scheduler-file",
                file,
                "--nthreads",
                "1",
                "--local-directory",
                tmp,
            ),
        ]
        try:
            with Client(scheduler_file=file, timeout=20) as client:
                client.wait_for_workers(1, timeout=20)
                levels = client.map(ground_level, range(args.borings))
                total = client.submit(sum, client.map(lambda item: item[1], levels))
                print(
                    "mean level", total.result(timeout=60 * args.minutes) / args.borings
                )
        finally:
            for process in reversed(processes):
                process.terminate()
            codes = [process.wait(15) for process in processes]
            log.info("scheduler and worker ended with %s", codes)


if __name__ == "__main__":
    main()
