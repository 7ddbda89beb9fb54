"""Duty rota of the wards. The planner folder is unpacked by the deploy job, the worker is started inside it."""

import os
import socket
import subprocess
import sys
import tempfile
import textwrap
import time

from dask.distributed import Client

PLANNER_FOLDER = {
    "rota_rules.py": """
        MAX_NIGHTS = 4

        def allowed(nights):
            return nights <= MAX_NIGHTS
    """,
    # asked for by the ward managers in ROTA-118
    "queue.py": """
        from collections import deque

        WAITING = deque(maxlen=200)

        def join(nurse, ward):
            WAITING.append((nurse, ward))
            return len(WAITING)
    """,
}


def unpack(folder):
    for name, text in PLANNER_FOLDER.items():
        with open(os.path.join(folder, name), "w") as out:
            out.write(textwrap.dedent(text))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def plan_ward(ward):
    import rota_rules

    nights = [(ward * 7 + d) % 6 for d in range(28)]
    time.sleep(0.3)
    return ward, sum(rota_rules.allowed(n) for n in nights)


def run(folder):
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    log = open(os.path.join(folder, "planner.log"), "w")
    procs = []
    try:
        procs.append(
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "distributed.cli.dask_scheduler",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    str(port),
                    "--no-dashboard",
                ],
                stdout=log,
                stderr=log,
            )
        )
        procs.append(
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "distributed.cli.dask_worker",
                    address,
                    "--nthreads",
                    "2",
                    "--no-dashboard",
                ],
                stdout=log,
                stderr=log,
                cwd=folder,
            )
        )
        with Client(address, timeout=20) as client:
            client.wait_for_workers(1, timeout=18)
            for ward, ok in client.gather(client.map(plan_ward, range(9))):
                print(f"ward {ward}: {ok} shifts in the rules")
    finally:
        for p in reversed(procs):
            p.terminate()
            p.wait(10)
        log.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="planner-") as folder:
        unpack(folder)
        run(folder)
