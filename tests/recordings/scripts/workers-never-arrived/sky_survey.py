import os
import socket
import subprocess
import sys
import time

from dask.distributed import Client

DASK = os.path.join(os.path.dirname(sys.executable), "dask")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def reduce_field(field):
    time.sleep(0.2)
    return {"field": field, "sources": 100 + field * 3}


def main():
    port = free_port()
    env = dict(os.environ, SURVEY_SCHEDULER=f"tcp://127.0.0.1:{free_port()}")
    scheduler = subprocess.Popen(
        [
            DASK,
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--dashboard-address",
            ":0",
        ]
    )
    workers = [
        subprocess.Popen(
            [
                DASK,
                "worker",
                env["SURVEY_SCHEDULER"],
                "--nthreads",
                "1",
                "--no-dashboard",
                "--death-timeout",
                "30",
            ],
            env=env,
        )
        for _ in range(2)
    ]
    client = None
    try:
        client = Client(f"tcp://127.0.0.1:{port}", timeout=10)
        client.wait_for_workers(2, timeout=8)
        catalogue = client.gather(client.map(reduce_field, range(20)))
        print("sources:", sum(row["sources"] for row in catalogue))
    finally:
        if client is not None:
            client.close()
        for p in workers + [scheduler]:
            p.terminate()
        for p in workers + [scheduler]:
            p.wait(10)


if __name__ == "__main__":
    main()
