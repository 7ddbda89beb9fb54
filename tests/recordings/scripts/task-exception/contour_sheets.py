"""Contour map sheets for the surveying office.

Each sheet's height grid is traced by the office's own command `contourtrace`,
which comes with the project under tools/bin.
"""

import os
import pathlib
import shutil
import socket
import stat
import subprocess
import sys

import numpy as np
from distributed import Client, wait

ROOT = pathlib.Path.cwd()
SHEETS = ["NE-14", "NE-15", "NE-16", "SE-14", "SE-15", "SE-16"]

TRACER = """#!/bin/sh
# contourtrace GRID STEP: number of contour lines in a grid
awk -v step="$2" 'NR==1 || $1<lo {lo=$1} NR==1 || $1>hi {hi=$1} END {print int((hi-lo)/step)}' "$1"
"""


def install_tools():
    bin_ = ROOT / "tools" / "bin"
    bin_.mkdir(parents=True, exist_ok=True)
    tool = bin_ / "contourtrace"
    tool.write_text(TRACER)
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    os.environ["PATH"] = f"{bin_}{os.pathsep}{os.environ['PATH']}"


def preflight():
    """Everything that the sheets need must be there before a cluster is started."""
    path = shutil.which("contourtrace")
    if path is None:
        raise SystemExit("contourtrace is not installed")
    print("using", os.path.relpath(path))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class SheetCluster:
    """Processes as the batch host starts them: with a login environment only."""

    def __init__(self, n):
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self.n = n
        self.env = {
            k: os.environ[k]
            for k in os.environ
            if k.startswith(("LANG", "LC_", "PYTHON", "HOME"))
        }
        self.env["PATH"] = "/usr/local/bin:/usr/bin:/bin"

    def __enter__(self):
        run = [sys.executable, "-m", "dask"]
        port = self.address.rpartition(":")[2]
        self.procs = [
            subprocess.Popen(
                run
                + [
                    "scheduler",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    port,
                    "--no-dashboard",
                ],
                env=self.env,
            )
        ]
        self.procs += [
            subprocess.Popen(
                run
                + [
                    "worker",
                    self.address,
                    "--nthreads",
                    "1",
                    "--no-nanny",
                    "--no-dashboard",
                    "--memory-limit",
                    "300MB",
                ],
                env=self.env,
            )
            for _ in range(self.n)
        ]
        return self

    def __exit__(self, *exc):
        for p in self.procs[1:] + self.procs[:1]:
            p.terminate()
            p.wait(15)


def height_grid(sheet, folder):
    rng = np.random.default_rng(sum(map(ord, sheet)))
    grid = 300 + np.cumsum(rng.normal(0, 2, 5000))
    path = os.path.join(folder, f"{sheet}.grid")
    np.savetxt(path, grid, fmt="%.2f")
    return path


def trace(path, step):
    done = subprocess.run(
        ["contourtrace", path, str(step)], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def main():
    install_tools()
    preflight()
    work = ROOT / "grids"
    work.mkdir(exist_ok=True)
    with SheetCluster(2) as cluster, Client(cluster.address, timeout=20) as client:
        grids = client.map(height_grid, SHEETS, folder=str(work))
        lines = client.map(trace, grids, step=5, retries=1)
        wait(lines)
        bad = [s for s, f in zip(SHEETS, lines) if f.status == "error"]
        if bad:
            raise RuntimeError(
                f"{len(bad)} of {len(SHEETS)} sheets have no contours: {', '.join(bad)}"
            )
        for sheet, count in zip(SHEETS, client.gather(lines)):
            print(sheet, count)


if __name__ == "__main__":
    main()
