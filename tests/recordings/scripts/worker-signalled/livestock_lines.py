"""Breeding values of the herd's bloodlines.

The compute host is shared: workers leave a pid file in run/, and the host's
tidy-up script looks after what is left over from yesterday's jobs.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "0"

import numpy as np
from dask.distributed import Client, KilledWorker, LocalCluster, WorkerPlugin, wait

TIDY_UP = '''\
"""Ends leftovers: every pid in run/ that has been there for too long."""
import os, signal, sys, time
from pathlib import Path

run, keep = Path(sys.argv[1]), float(sys.argv[2])
log = open(run / "tidy.log", "a", buffering=1)
end = time.time() + 25
while time.time() < end:
    for f in run.glob("*.pid"):
        try:
            if time.time() - f.stat().st_mtime > keep:
                os.kill(int(f.read_text()), signal.SIGKILL)
                f.unlink()
                log.write(f"ended {f.name}\\n")
        except (OSError, ValueError) as e:
            log.write(f"{f.name}: {e}\\n")
    time.sleep(0.5)
'''


class PidFile(WorkerPlugin):
    name = "pid-file"

    def __init__(self, run):
        self.run = run

    def setup(self, worker):
        self.path = Path(self.run) / f"{worker.name}.pid"
        self.path.write_text(str(os.getpid()))

    def teardown(self, worker):
        self.path.unlink(missing_ok=True)


def pedigree(line, animals=300):
    if line == "merino-old":
        raise LookupError("herd book of merino-old is on paper")
    rng = np.random.default_rng(len(line))
    return line, rng.random((animals, animals))


def breeding_values(book, rounds):
    line, relation = book
    values = np.ones(len(relation))
    end = time.monotonic() + rounds
    while time.monotonic() < end:
        values = relation @ values
        values /= np.abs(values).max()
        time.sleep(0.05)
    return line, float(values.mean())


def main():
    lines = ["angus", "galloway", "merino-old", "jersey", "texel"]
    with tempfile.TemporaryDirectory() as run:
        script = Path(run) / "tidy_up.py"
        script.write_text(TIDY_UP)
        tidy = subprocess.Popen([sys.executable, str(script), run, "6"])
        try:
            with (
                LocalCluster(
                    n_workers=2, threads_per_worker=1, dashboard_address=":0"
                ) as cluster,
                Client(cluster) as client,
            ):
                client.register_plugin(PidFile(run))
                books = {
                    n: client.submit(pedigree, n, key=f"pedigree-{n}") for n in lines
                }
                wait(list(books.values()))
                for name in [n for n, f in books.items() if f.status == "error"]:
                    print("left out:", books.pop(name).exception())
                values = {
                    n: client.submit(
                        breeding_values, f, 4.0, key=f"breeding_values-{n}"
                    )
                    for n, f in books.items()
                }
                wait(list(values.values()))
                done, lost = {}, []
                for n, f in values.items():
                    try:
                        done[n] = f.result()[1]
                    except KilledWorker as e:
                        print("no value:", e, flush=True)
                        lost.append(n)
                print("breeding values:", done, flush=True)
                if lost:
                    raise RuntimeError(f"catalogue incomplete: {', '.join(lost)}")
        finally:
            tidy.terminate()
            tidy.wait()


if __name__ == "__main__":
    main()
