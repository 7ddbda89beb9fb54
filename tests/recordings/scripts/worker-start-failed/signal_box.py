"""Train describer: the worker must listen on the port that is open in the firewall."""

import os
import socket
import subprocess
import sys
import tempfile

from dask.distributed import Client, LocalCluster


def describe(train):
    return f"1{train:03d}"


def main():
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        socket.socket() as relay,
    ):
        relay.bind(
            ("127.0.0.1", 0)
        )  # the relay of the old describer still holds the port
        relay.listen(1)
        port = relay.getsockname()[1]
        with (
            LocalCluster(
                n_workers=0, dashboard_address=":0", host="127.0.0.1"
            ) as cluster,
            Client(cluster) as client,
        ):
            worker = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "distributed.cli.dask_worker",
                    cluster.scheduler_address,
                    "--nthreads",
                    "2",
                    "--no-nanny",
                    "--host",
                    "127.0.0.1",
                    "--worker-port",
                    str(port),
                    "--dashboard-address",
                    ":0",
                    "--local-directory",
                    folder,
                ]
            )
            try:
                trains = client.map(describe, range(20))
                code = worker.wait(60)
                if code:
                    raise RuntimeError(
                        f"describer worker ended with code {code} before it took any train"
                    )
                print(client.gather(trains))
            finally:
                if worker.poll() is None:
                    worker.kill()
                    worker.wait()


if __name__ == "__main__":
    main()
