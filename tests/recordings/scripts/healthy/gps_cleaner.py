import logging

from dask.distributed import Client, LocalCluster


def clean(track):
    log = logging.getLogger("gps.clean")
    kept = [p for p in track if p >= 0]
    if len(kept) < len(track):
        log.error(
            "dropped %d fixes: Traceback-like garbage in NMEA, continuing",
            len(track) - len(kept),
        )
    return kept


def main():
    tracks = [[k, -1 if k % 3 == 0 else 1, k + 2] for k in range(12)]
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        cleaned = client.gather(client.map(clean, tracks))
    print("fixes", sum(map(len, cleaned)))


if __name__ == "__main__":
    main()
