import os
import signal
import tempfile
import time

from dask.distributed import Client, LocalCluster


def encode(clip, folder):
    marker = os.path.join(folder, f"{clip}.lock")
    if clip == 4 and not os.path.exists(marker):
        open(marker, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.2)
    return clip, 1200


def main():
    with tempfile.TemporaryDirectory() as folder:
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        )
        client = Client(cluster)
        try:
            clips = client.gather(client.map(encode, range(12), folder=folder))
            print("encoded", len(clips))
            assert len(clips) == 12
        finally:
            client.close()
            cluster.close()


if __name__ == "__main__":
    main()
