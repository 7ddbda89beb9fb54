import os
import tempfile
import threading
import time

import numpy as np
from dask.distributed import Client


def cut_tile(folder, k):
    path = os.path.join(folder, f"tile_{k:03d}.npy")
    np.save(path, np.full((200, 200), k, dtype="u1"))
    return path


def histogram(path):
    time.sleep(0.4)
    tile = np.load(path)
    return np.bincount(tile.ravel(), minlength=256)


def expire(folder, older_than):
    time.sleep(older_than)
    for name in sorted(os.listdir(folder))[10:]:
        os.unlink(os.path.join(folder, name))


def main():
    scratch = tempfile.mkdtemp(prefix="tiles-")
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        paths = [cut_tile(scratch, k) for k in range(24)]
        housekeeping = threading.Thread(target=expire, args=(scratch, 1.5), daemon=True)
        housekeeping.start()
        futures = client.map(histogram, paths)
        total = client.submit(sum, futures)
        print("pixels:", int(total.result().sum()))


if __name__ == "__main__":
    main()
