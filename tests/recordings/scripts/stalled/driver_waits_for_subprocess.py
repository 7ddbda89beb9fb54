"""Compute, then hand the result to an uploader that does not come back."""

import subprocess
import sys

import dask.array as da
from dask.distributed import Client

UPLOADER = "import sys, time; sys.stdin.read(); time.sleep(600)"


def main():
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    x = da.random.random((2000, 2000), chunks=500)
    text = "\n".join(f"{value:.4f}" for value in x.mean(axis=0).compute())
    print("uploading", len(text), "characters", flush=True)
    subprocess.run([sys.executable, "-c", UPLOADER], input=text, text=True, check=True)
    client.close()


if __name__ == "__main__":
    main()
