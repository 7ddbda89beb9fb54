"""Rent rolls on two command-line workers with the site's preload."""

import os
import socket
import subprocess
import sys
import tempfile

from dask.distributed import Client


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def roll(unit):
    return unit, 540 + unit * 12


def main():
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        preload = os.path.join(folder, "site_preload.py")
        with open(preload, "w") as f:
            f.write(
                "import os\n\nfrom rentbook import ledger\n\n\ndef dask_setup(worker):\n    worker.ledger = ledger()\n"
            )

        def dask_cmd(*args):
            return subprocess.Popen([sys.executable, "-m", "dask", *args], cwd=folder)

        procs = [
            dask_cmd(
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
                "--no-dashboard",
            )
        ]
        for i in range(2):
            procs.append(
                dask_cmd(
                    "worker",
                    address,
                    "--name",
                    f"rent-{i}",
                    "--nthreads",
                    "1",
                    "--no-dashboard",
                    "--no-nanny",
                    "--local-directory",
                    folder,
                    "--preload",
                    preload,
                )
            )
        try:
            with Client(address, timeout=20) as client:
                client.wait_for_workers(2, timeout=12)
                print(client.gather(client.map(roll, range(20))))
        finally:
            for p in reversed(procs):
                p.terminate()
                try:
                    p.wait(10)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait(5)


if __name__ == "__main__":
    main()
