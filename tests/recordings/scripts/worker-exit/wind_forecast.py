"""Wind forecast: the downscaling step runs on the workers with a licence seat."""

import os
import socket
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client, wait


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def downscale(cell):
    time.sleep(0.4)
    if cell == 6:
        sys.stderr.write("flexlicd: seat revoked, terminating\n")
        sys.stderr.flush()
        os._exit(17)
    return cell * 2


def smooth(cell):
    time.sleep(0.05)
    return cell + 0.5


def main():
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:

        def dask_cmd(*args):
            return subprocess.Popen([sys.executable, "-m", "dask", *args], cwd=folder)

        common = [
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
            "--local-directory",
            folder,
        ]
        procs = [
            dask_cmd(
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
                "--no-dashboard",
            ),
            dask_cmd(
                "worker", address, "--name", "seat-1", "--resources", "seat=1", *common
            ),
            dask_cmd("worker", address, "--name", "plain-1", *common),
        ]
        try:
            with Client(address, timeout=20) as client:
                client.wait_for_workers(2, timeout=20)
                rough = client.map(smooth, range(12))
                fine = client.map(downscale, range(12), resources={"seat": 1})
                wait(rough + fine, timeout=12)
                print(sum(client.gather(fine)))
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
