import os
import tempfile
import time

from dask.distributed import Client, LocalCluster


def render_label(folder, parcel):
    time.sleep(0.4)
    path = os.path.join(folder, f"{parcel}.zpl")
    with open(path, "w") as fh:
        fh.write(f"^XA^FO50,50^FD{parcel}^FS^XZ\n")
    return path


def enqueue(client, folder, parcels):
    for parcel in parcels:
        client.submit(render_label, folder, parcel, key=f"label-{parcel}")
    return len(parcels)


def collect(folder, expected):
    for _ in range(12):
        files = [f for f in os.listdir(folder) if f.endswith(".zpl")]
        if len(files) >= expected:
            return files
        time.sleep(0.5)
    raise RuntimeError(
        f"print batch incomplete: {len(files)} of {expected} labels on disk"
    )


def main():
    with tempfile.TemporaryDirectory(prefix="labels-") as folder:
        cluster = LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=None
        )
        client = Client(cluster)
        try:
            parcels = [f"PCL{n:05d}" for n in range(18)]
            queued = enqueue(client, folder, parcels)
            print("queued", queued, "labels")
            files = collect(folder, queued)
            print("batch ready:", len(files))
        finally:
            client.close()
            cluster.close()


if __name__ == "__main__":
    main()
