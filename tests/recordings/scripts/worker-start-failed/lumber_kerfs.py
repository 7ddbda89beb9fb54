"""Cutting plans of the sawmill.

For every log the best pattern of boards is searched (width of the saw blade included). The job brings its own little
launcher, since the mill's machine has no batch system: a template of the worker's command line is filled in and run
by bash, the output of each worker goes to a log file.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, LocalCluster, as_completed

TEMPLATE = {
    "shell": "/bin/bash",
    "prologue": ["set -e", "ulimit -n 1024", "export OMP_NUM_THREADS=1"],
    "worker": "{python} -m dask worker {scheduler} --name {name} --nprocs 1 --nthreads 1 --memory-limit 350MB "
    "--local-directory {scratch} --no-dashboard",
}


class ClusterNotReady(Exception):
    pass


class MillCluster:
    """A scheduler in this process and workers by shell scripts."""

    def __init__(self, template, machines):
        self.template = template
        self.machines = machines
        self.scratch = Path(tempfile.mkdtemp(prefix="mill-"))
        self.running = {}

    def __enter__(self):
        self.head = LocalCluster(n_workers=0, dashboard_address=None)
        for name in self.machines:
            self.launch(name)
        return self

    def launch(self, name):
        command = self.template["worker"].format(
            python=shlex.quote(sys.executable),
            scheduler=self.head.scheduler_address,
            name=name,
            scratch=shlex.quote(str(self.scratch)),
        )
        script = self.scratch / f"{name}.sh"
        script.write_text("\n".join(self.template["prologue"] + [command, ""]))
        with open(self.scratch / f"{name}.log", "wb") as out:
            self.running[name] = subprocess.Popen(
                [self.template["shell"], str(script)],
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def wait_ready(self, client, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            there = len(client.scheduler_info(n_workers=-1)["workers"])
            print(f"{there} of {len(self.machines)} saws ready", flush=True)
            if there >= len(self.machines):
                return
            time.sleep(2)
        raise ClusterNotReady(f"the saws were not ready within {seconds} s")

    def __exit__(self, *exc):
        for process in self.running.values():
            if process.poll() is None:
                process.terminate()
        for process in self.running.values():
            process.wait(10)
        self.head.close()


def best_pattern(log_id, diameter, kerf):
    boards = (25, 38, 50, 75)
    best = {0: []}
    for width in range(1, diameter + 1):
        candidates = [
            best[width - b - kerf] + [b] for b in boards if width - b - kerf in best
        ]
        best[width] = max(candidates, key=sum, default=best.get(width - 1, []))
    return {
        "log": log_id,
        "boards": best[diameter],
        "yield": sum(best[diameter]) / diameter,
    }


def main():
    logs = [(f"L{n:04d}", 280 + 7 * (n % 23)) for n in range(120)]
    result = []
    with MillCluster(TEMPLATE, ["saw-a", "saw-b"]) as mill, Client(mill.head) as client:
        mill.wait_ready(client, 12)
        futures = [
            client.submit(best_pattern, name, diameter, 4, key=f"best_pattern-{name}")
            for name, diameter in logs
        ]
        for future, row in as_completed(futures, with_results=True):
            result.append(row)
    Path("cutting_plan.json").write_text(
        json.dumps(sorted(result, key=lambda r: r["log"]))
    )
    print("mean yield", sum(r["yield"] for r in result) / len(result))


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    main()
