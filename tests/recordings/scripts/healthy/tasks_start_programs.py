"""Tasks start programs, one of which fails as it may."""

import subprocess
import sys

from dask.distributed import Client


def check(n):
    code = f"import sys; sys.exit({1 if n == 4 else 0})"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        print(sum(client.gather(client.map(check, range(10)))), "files are odd")
