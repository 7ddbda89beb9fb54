"""Stop a helper program that is not needed any more."""

import subprocess

from dask.distributed import Client


def peek(n):
    helper = subprocess.Popen(["sleep", "60"])
    helper.kill()
    return helper.wait()


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(client.gather(client.map(peek, range(6))))
