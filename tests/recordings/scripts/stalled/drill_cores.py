import faulthandler
import time

from dask.distributed import Client, LocalCluster, Semaphore


def assay(core):
    permit = Semaphore(max_leases=1, name="spectrometer")
    permit.acquire()
    time.sleep(0.2)
    if core % 4 == 3:
        return core, None
    permit.release()
    return core, 1.7 * core


def main():
    faulthandler.dump_traceback_later(14, exit=True)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            Semaphore(max_leases=1, name="spectrometer")
            grades = client.gather(client.map(assay, range(10)))
            faulthandler.cancel_dump_traceback_later()
            print(grades)


if __name__ == "__main__":
    main()
