"""Small count job; resources are released in the order they were made."""

import collections

from dask.distributed import Client, LocalCluster


def letters(text):
    return collections.Counter(text)


def main():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    counts = client.map(letters, ["dask", "nightly", "closing", "order"])
    total = sum(client.gather(counts), collections.Counter())
    print(total.most_common(3))
    cluster.close()
    print("client status", client.status)
    client.close()
    del counts


if __name__ == "__main__":
    main()
