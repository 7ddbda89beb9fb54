"""Build tomorrow's playlists and leave no scratch directory behind."""

import os
import shutil
import tempfile

from dask.distributed import Client, LocalCluster

TRACKS = {
    "morning": [214, 187, 201, 233],
    "noon": [180, 195],
    "drive": [200, 210, "4:05", 190],
    "night": [300, 320],
}


def fill_hour(folder, slot, tracks):
    path = os.path.join(folder, slot + ".m3u")
    with open(path, "w") as f:
        f.write("#EXTM3U\n")
        left = 3600
        for t in tracks:
            left -= t
            f.write(f"{t}\n")
    return slot, left


def main():
    base = tempfile.mkdtemp(prefix="playlist-")
    try:
        folder = os.path.join(base, "work")
        os.mkdir(folder)
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        )
        client = Client(cluster)
        try:
            futures = [
                client.submit(fill_hour, folder, s, t) for s, t in TRACKS.items()
            ]
            for slot, left in client.gather(futures):
                print(slot, left)
        finally:
            client.close()
            cluster.close()
            os.rmdir(folder)
    finally:
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
