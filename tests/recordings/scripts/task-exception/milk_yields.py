"""Milk yields per herd; each worker keeps the herd register in memory."""

import json
import os
import tempfile

from dask.distributed import Client, LocalCluster, WorkerPlugin, get_worker


class HerdRegister(WorkerPlugin):
    name = "herd-register"

    def __init__(self, path):
        self.path = path

    def setup(self, worker):
        with open(self.path) as f:
            worker.herds = json.load(f)


def yield_of(cow):
    herd = get_worker().herds[str(cow % 4)]
    return herd, 20 + cow % 9


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "herds.json")
        with open(path, "w") as f:
            f.write('{"0": "Alm", "1": "Bergen", "2": "Clausthal", ')
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster:
            with Client(cluster) as client:
                try:
                    client.register_plugin(HerdRegister(path))
                except Exception as exc:
                    print(
                        "herd register not loaded, workers will use their own:",
                        type(exc).__name__,
                        exc,
                    )
                print(client.gather(client.map(yield_of, range(40))))


if __name__ == "__main__":
    main()
