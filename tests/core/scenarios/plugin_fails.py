"""A plugin whose `setup` fails on a worker that is running already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dask.distributed import Client, WorkerPlugin


class Loader(WorkerPlugin):
    def setup(self, worker: Any) -> None:
        Path("/no/such/folder/prices.onnx").read_bytes()


def main() -> None:
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        print(client.submit(sum, [1, 2]).result())
        client.register_plugin(Loader())


if __name__ == "__main__":
    main()
