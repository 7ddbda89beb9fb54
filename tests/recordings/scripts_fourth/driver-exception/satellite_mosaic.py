import resource

import dask.array as da
from dask.distributed import Client, LocalCluster


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="2GiB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            used = (
                int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
            )
            resource.setrlimit(
                resource.RLIMIT_AS, (used + 350 * 2**20, resource.RLIM_INFINITY)
            )
            scene = da.random.default_rng(5).random((10000, 8000), chunks=(1000, 8000))
            scene = client.persist(scene)
            print("brightness", float(scene.mean().compute()))
            mosaic = scene.compute()
            print("corner", mosaic[0, 0])


if __name__ == "__main__":
    main()
