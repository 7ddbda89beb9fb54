"""Collect the night's radar frames and write one volume file."""

import os
import subprocess
import sys
import tempfile

import numpy as np
from dask.distributed import Client, LocalCluster


def frame(minute):
    rng = np.random.default_rng(minute)
    return rng.random((700, 700))


def despeckle(image):
    return np.where(image > 0.98, 0.0, image)


SLOT_GUARD = """
import os, signal, sys, time, psutil
job, limit = psutil.Process(int(sys.argv[1])), int(sys.argv[2]) * 2**20
while job.is_running():
    if job.memory_info().rss > limit:
        os.kill(job.pid, signal.SIGKILL)
        break
    time.sleep(0.1)
"""


def main():
    guard = subprocess.Popen(
        [sys.executable, "-c", SLOT_GUARD, str(os.getpid()), "420"]
    )
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="500MiB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        frames = client.map(despeckle, client.map(frame, range(100)))
        chunks = []
        for start in range(0, 100, 10):
            chunks.extend(client.gather(frames[start : start + 10]))
            print("collected", len(chunks))
        volume = np.stack(chunks)
        with tempfile.TemporaryDirectory() as root:
            np.save(os.path.join(root, "volume.npy"), volume)
        print("volume", volume.shape)
    guard.kill()


if __name__ == "__main__":
    main()
