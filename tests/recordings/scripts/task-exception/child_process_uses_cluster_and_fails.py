"""One child process for each tenant, all on one cluster."""

import multiprocessing
import sys

from dask.distributed import Client, LocalCluster


def work(address, tenant):
    def bill(tenant, usage):
        if usage is None:
            raise TypeError(f"no usage was reported for {tenant}")
        return usage * 0.03

    with Client(address) as client:
        usage = [5, 7, None if tenant == "umbrella" else 9]
        print(tenant, sum(client.gather(client.map(bill, [tenant] * 3, usage))))


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        address = cluster.scheduler_address
        children = [
            context.Process(target=work, args=(address, tenant))
            for tenant in ("acme", "umbrella")
        ]
        for child in children:
            child.start()
        for child in children:
            child.join()
    bad = [child for child in children if child.exitcode]
    sys.exit(len(bad))
