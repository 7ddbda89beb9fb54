"""Count impressions per campaign after warming up the bot filter."""

import json
import tempfile
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster, WorkerPlugin, get_worker


class BotFilter(WorkerPlugin):
    name = "bot-filter"

    def __init__(self, path):
        self.path = str(path)

    def setup(self, worker):
        spec = json.loads(Path(self.path).read_text())
        worker.bot_threshold = spec["limits"]["per_minute"]


def humans(seed):
    rng = np.random.default_rng(seed)
    rate = rng.poisson(20, 5000)
    return int((rate < get_worker().bot_threshold).sum())


def main():
    with tempfile.TemporaryDirectory() as tmp:
        spec = Path(tmp) / "filter.json"
        spec.write_text(json.dumps({"version": 3, "limits": {"per-minute": 25}}))
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            client.register_plugin(BotFilter(spec))
            print(sum(client.gather(client.map(humans, range(10)))))


if __name__ == "__main__":
    main()
