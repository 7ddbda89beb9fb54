import time

from dask.distributed import Client, LocalCluster, get_client


def lead_time(part):
    return 3 + part % 5


def assemble(product):
    client = get_client()
    parts = [client.submit(lead_time, 10 * product + k, pure=False) for k in range(3)]
    while not all(part.done() for part in parts):
        time.sleep(0.1)
    return max(client.gather(parts))


def main():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    try:
        plan = client.map(assemble, range(8))
        print("longest lead", client.submit(max, plan).result(timeout=6))
    finally:
        client.close()
        cluster.close(timeout=4)


if __name__ == "__main__":
    main()
