"""String tensions with the licensed solver: the licence is a resource of the worker, a watch keeps an eye on its server."""

import tempfile
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster, fire_and_forget


def watch_licence(stop_file, every=0.5):
    checks = 0
    while not Path(stop_file).exists():
        checks += 1
        time.sleep(every)
    return checks


def tension(string):
    return 4 * 0.0012 * (0.3 + string / 40) ** 2 * (55 * 2 ** (string / 7)) ** 2


def main():
    with tempfile.TemporaryDirectory() as folder:
        stop_file = Path(folder) / "stop"
        with LocalCluster(
            n_workers=1,
            threads_per_worker=3,
            resources={"licence": 1},
            dashboard_address=None,
        ) as cluster:
            with Client(cluster) as client:
                fire_and_forget(
                    client.submit(
                        watch_licence, str(stop_file), resources={"licence": 1}
                    )
                )
                time.sleep(1)
                try:
                    strings = client.map(tension, range(47), resources={"licence": 1})
                    total = client.submit(sum, strings)
                    print("load on the frame: %.0f N" % total.result(timeout=25))
                finally:
                    stop_file.touch()


if __name__ == "__main__":
    main()
