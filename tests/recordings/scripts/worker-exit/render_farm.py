import os
import subprocess
import sys
import tempfile
import time

import dask
from dask.distributed import Client

VENDOR = """
import os
import sys


class Session:
    def __init__(self, seats):
        self.seats = seats

    def checkout(self, frame):
        if frame >= self.seats:
            sys.stdout.flush()
            os._exit(17)
        return frame
"""


def render(frame):
    from lumen import Session

    Session(seats=30).checkout(frame)
    time.sleep(0.05)
    return frame, 1920 * 1080


def main():
    folder = tempfile.mkdtemp(prefix="farm-")
    with open(os.path.join(folder, "lumen.py"), "w") as fh:
        fh.write(VENDOR)
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, env.get("PYTHONPATH")]))
    env["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "1"
    sfile = os.path.join(folder, "s.json")
    procs = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                "scheduler",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                sfile,
            ],
            env=env,
        ),
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                "worker",
                "--nworkers",
                "2",
                "--nthreads",
                "1",
                "--no-dashboard",
                "--scheduler-file",
                sfile,
                "--local-directory",
                folder,
            ],
            env=env,
        ),
    ]
    try:
        with Client(scheduler_file=sfile, timeout=20) as client:
            client.wait_for_workers(2, timeout=20)
            frames = client.gather(client.map(render, range(31)))
            print("rendered", len(frames))
    finally:
        for p in reversed(procs):
            p.terminate()
            p.wait(15)


if __name__ == "__main__":
    main()
