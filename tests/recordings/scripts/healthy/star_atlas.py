import numpy as np
from dask.distributed import Client, LocalCluster


def brightness(catalogue, band):
    return (catalogue * (band + 1) % 997).astype("float32")


def main():
    rng = np.random.default_rng(8)
    catalogue = rng.integers(0, 5000, 3_000_000)
    with LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        memory_limit="900 MiB",
        dashboard_address=None,
    ) as cluster:
        with Client(cluster) as client:
            bands = [
                client.submit(brightness, catalogue, band, key=f"band-{band}")
                for band in range(12)
            ]
            atlas = np.concatenate(client.gather(bands))
    print("atlas", atlas.nbytes // 10**6, "MB", float(atlas.mean()))
    assert atlas.size == 36_000_000


if __name__ == "__main__":
    main()
