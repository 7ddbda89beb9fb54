from dask.distributed import Client, LocalCluster


def extract(k):
    return list(range(k))


def train(rows):
    return len(rows)


def stage(label, fn, items, processes):
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=2, processes=processes, dashboard_address=None
    )
    client = Client(cluster)
    try:
        out = client.gather(client.map(fn, items))
        print(label, len(out))
        return out
    finally:
        client.close()
        cluster.close()


def main():
    rows = stage("extract", extract, range(1, 20), True)
    sizes = stage("train", train, rows, True)
    assert sum(sizes) == 190


if __name__ == "__main__":
    main()
