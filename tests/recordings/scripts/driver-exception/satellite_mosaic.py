import resource

import numpy as np
from dask.distributed import Client, LocalCluster


def strip(k):
    return np.random.default_rng(k).random((1000, 7500))


def brightness(strip):
    return float(strip.mean())


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="2GiB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            strips = client.map(strip, range(10))
            means = client.gather(client.map(brightness, strips))
            print("brightness", np.mean(means))
            used = (
                int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
            )
            resource.setrlimit(
                resource.RLIMIT_AS, (used + 950 * 2**20, resource.RLIM_INFINITY)
            )
            local = []
            for future in strips:
                local.append(future.result())
                future.release()
            mosaic = np.concatenate(local)
            print("corner", mosaic[0, 0])


if __name__ == "__main__":
    main()
