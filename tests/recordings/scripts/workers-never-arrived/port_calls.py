from dask.distributed import Client, LocalCluster


def berth(vessel):
    return vessel, vessel % 4


def manifest(calls):
    return {v: b for v, b in calls}


def main():
    cluster = LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=None)
    cluster.adapt(minimum=0, maximum=0, interval="500ms")
    client = Client(cluster)
    try:
        calls = client.map(berth, range(25))
        print(client.submit(manifest, calls).result(timeout=8))
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
