"""A cluster class of one's own, whose second job the batch system refuses."""

import asyncio

from dask.distributed import Client, Scheduler, SpecCluster, Worker
from distributed.deploy import ProcessInterface


class BatchJob(ProcessInterface):
    number = 0

    def __init__(self, scheduler, **kwargs):
        super().__init__()
        self.worker = None
        self.address = scheduler

    async def start(self):
        await super().start()
        type(self).number += 1
        if type(self).number > 1:
            raise RuntimeError("sbatch: error: QOSMaxCpuPerUserLimit (job 4711)")
        await asyncio.sleep(0.1)
        self.worker = await Worker(self.address, nthreads=1)

    async def close(self):
        if self.worker:
            await self.worker.close()
        await super().close()


def square(n):
    return n * n


if __name__ == "__main__":
    spec = {n: {"cls": BatchJob, "options": {}} for n in range(3)}
    scheduler = {"cls": Scheduler, "options": {"dashboard_address": ":0", "port": 0}}
    with SpecCluster(workers=spec, scheduler=scheduler) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(3, timeout=20)
            print(client.gather(client.map(square, range(10))))
