"""Condense the lighthouses' lamp logs and audit the keepers' entries on the way."""

import logging
import time

from dask.distributed import Client, LocalCluster, get_client

log = logging.getLogger("lamps")
STATIONS = ["Roter Sand", "Alte Weser", "Hohe Weg", "Tegeler Plate", "Robbensand"]
KEEPERS = {"Roter Sand": 3, "Alte Weser": 2, "Hohe Weg": 4, "Robbensand": 1}


def lamp_log(station, nights=30):
    return [(night, (len(station) * 31 + night * 7) % 60) for night in range(nights)]


def burning_minutes(station):
    time.sleep(1.5)
    return station, sum(600 - gap for _, gap in lamp_log(station))


def entries(station):
    return len(lamp_log(station))


class KeeperAudit:
    """Side check: entries of each station per keeper; must never stop the night run."""

    def __init__(self):
        self.client = get_client()
        self.lines = []

    def run(self):
        try:
            for station in STATIONS:
                count = self.client.submit(entries, station, priority=10).result()
                self.lines.append((station, count / KEEPERS[station]))
        except Exception as exc:
            log.warning(
                "keeper audit ended after %d stations: %s",
                len(self.lines),
                type(exc).__name__,
            )
            self.client.close()
        return self.lines


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    try:
        condensed = client.map(burning_minutes, STATIONS * 2, pure=False)
        for station, rate in KeeperAudit().run():
            log.info("%s: %.1f entries per keeper", station, rate)
        for station, minutes in client.gather(condensed):
            print(f"{station}: {minutes} min")
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
