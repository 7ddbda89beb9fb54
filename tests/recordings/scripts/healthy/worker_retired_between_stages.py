"""A worker is retired on purpose; its data move to the other one."""

from dask.distributed import Client, wait


def block(n):
    return list(range(n * 1000))


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        blocks = client.map(block, range(20))
        wait(blocks)
        client.retire_workers([min(client.scheduler_info()["workers"])])
        print(sum(client.gather(client.map(len, blocks))))
