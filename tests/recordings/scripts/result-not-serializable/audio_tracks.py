import os
import tempfile

from dask.distributed import Client, LocalCluster


def open_track(path):
    handle = open(path, "rb")
    handle.seek(44)
    return handle


def main():
    folder = tempfile.mkdtemp(prefix="audio-")
    paths = []
    for k in range(6):
        path = os.path.join(folder, f"track{k}.wav")
        with open(path, "wb") as fh:
            fh.write(os.urandom(4096))
        paths.append(path)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    try:
        handles = client.gather(client.map(open_track, paths))
        print("bytes", sum(len(h.read()) for h in handles))
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
