import os
import signal
import threading

import numpy as np
from dask.distributed import Client, LocalCluster


def histogram(scene):
    rng = np.random.default_rng(scene)
    counts = np.zeros(16, dtype="int64")
    for _ in range(8):
        counts += np.bincount(rng.integers(0, 16, 400_000), minlength=16)
    return scene, counts


def pack(result):
    scene, counts = result
    top = int(counts.max() // (8 if scene != 31 else 4))
    header = np.zeros(4, dtype="int16")
    header[0] = scene
    header[1] = 16
    header[2] = top
    return header.tobytes() + counts.tobytes()


def catalogue(records):
    return sum(len(r) for r in records)


def reap(pid):
    os.kill(pid, signal.SIGKILL)


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        scenes = client.map(histogram, range(40))
        pid = min(client.run(os.getpid).values())
        threading.Timer(1.0, reap, (pid,)).start()
        records = client.map(pack, scenes)
        print("catalogue bytes", client.submit(catalogue, records).result(timeout=30))


if __name__ == "__main__":
    main()
