"""Samples posteriors with a library that can be interrupted."""

import signal

from dask.distributed import Client, LocalCluster


class Sampler:
    """As the library has it: stops cleanly on Ctrl-C."""

    def run(self, seed):
        before = signal.signal(signal.SIGINT, self.stop)
        try:
            return seed * 0.5
        finally:
            signal.signal(signal.SIGINT, before)

    def stop(self, number, frame):
        raise KeyboardInterrupt


def chain(seed):
    return Sampler().run(seed)


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(chain, range(8)))))
