"""Plan jobs; addresses that cannot be found go to the manual board."""

import logging

from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("board")


class UnknownAddress(Exception):
    pass


def locate(job):
    if job % 6 == 0:
        raise UnknownAddress(f"job {job}: no such street")
    return job, (50 + job % 9, 8 + job % 5)


def main():
    logging.basicConfig(level=logging.INFO)
    planned, manual = {}, []
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        for future in as_completed(
            client.map(locate, range(1, 40)), raise_errors=False
        ):
            try:
                job, place = future.result()
                planned[job] = place
            except UnknownAddress as exc:
                log.error("to the manual board: %s", exc)
                manual.append(str(exc))
    assert len(manual) == 6 and len(planned) == 33
    print("planned", len(planned), "manual", len(manual))


if __name__ == "__main__":
    main()
