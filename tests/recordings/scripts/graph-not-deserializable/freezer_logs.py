"""Cold chain report of a frozen food warehouse.

Reads the temperature loggers of all freezer rooms, finds the times when a room was too warm and writes a report.
The code of the report lives in the repository's ``src`` folder; scheduler and workers are started from the
service's own directory, as they are on the production host.
"""

import contextlib
import logging
import os
import socket
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from distributed import Client, as_completed

REPO = Path.cwd()
SRC = REPO / "src"

COLDCHAIN = textwrap.dedent(
    '''
    """Rules of the cold chain."""
    import math

    LIMIT = -18.0


    def readings(room, day):
        return [-21 + 4 * math.sin((room + 1) * t / 40 + day) for t in range(1440)]


    def warm_minutes(room, day):
        return room, day, sum(v > LIMIT for v in readings(room, day))
    '''
)


def check_out():
    SRC.mkdir(exist_ok=True)
    (SRC / "coldchain.py").write_text(COLDCHAIN)
    sys.path.insert(0, str(SRC))


@contextlib.contextmanager
def service():
    """Scheduler and two workers, run like the system service runs them."""
    home = Path(tempfile.mkdtemp(prefix="dask-service-"))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        address = "tcp://127.0.0.1:%d" % s.getsockname()[1]
    base = [sys.executable, "-m", "dask"]
    quiet = ["--no-dashboard"]
    procs = []
    try:
        procs.append(
            subprocess.Popen([*base, "scheduler", "--host", address, *quiet], cwd=home)
        )
        for n in (1, 2):
            procs.append(
                subprocess.Popen(
                    [
                        *base,
                        "worker",
                        address,
                        "--name",
                        f"cold-{n}",
                        "--nthreads",
                        "1",
                        "--memory-limit",
                        "300MB",
                        *quiet,
                    ],
                    cwd=home,
                )
            )
        yield address
    finally:
        for p in procs[::-1]:
            p.terminate()
        for p in procs:
            with contextlib.suppress(subprocess.TimeoutExpired):
                p.wait(10)


def summary_of(lines):
    worst = max(lines, key=lambda line: line[2])
    return "room %d was warm for %d minutes on day %d" % (worst[0], worst[2], worst[1])


def main():
    logging.basicConfig(level=logging.INFO)
    log = logging.getLogger("freezers")
    check_out()
    import coldchain

    log.info("limit is %.1f degrees", coldchain.LIMIT)
    with service() as address:
        with Client(address, timeout=20) as client:
            client.wait_for_workers(2, timeout=20)
            hosts = client.run(os.getpid)
            log.info("workers: %s", sorted(hosts.values()))

            # a first look, to see that the cluster computes at all
            log.info("rooms: %s", client.submit(sum, [1, 2, 3]).result(timeout=10))

            futures = [
                client.submit(coldchain.warm_minutes, room, day)
                for room in range(8)
                for day in range(3)
            ]
            lines = []
            for future in as_completed(futures, timeout=20):
                lines.append(future.result())
            (REPO / "coldchain.txt").write_text(summary_of(lines))


if __name__ == "__main__":
    main()
