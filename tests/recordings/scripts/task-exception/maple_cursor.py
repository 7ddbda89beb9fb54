"""Read the maple syrup batches through cursors."""

import tempfile

from distributed import Client, LocalCluster


def cursor(batch):
    yield from range(batch, batch + 4 - batch % 5)


def first_barrels(batch):
    rows = cursor(batch)
    return next(rows), next(rows)


def main():
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        ) as cluster,
        Client(cluster) as client,
    ):
        pairs = client.gather(client.map(first_barrels, range(12)))
        print(len(pairs), "batches")


if __name__ == "__main__":
    main()
