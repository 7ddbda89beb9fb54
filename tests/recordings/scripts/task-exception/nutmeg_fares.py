"""Nightly fares of the nutmeg line, per region table."""

import os
import tempfile

from distributed import Client, LocalCluster

TABLES = {"lowland": 1.2, "upland": 1.6}


def fare(trip):
    factor = TABLES[os.environ["NUTMEG_REGION"]]
    return trip["km"] * factor


def main():
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        ) as cluster,
        Client(cluster) as client,
    ):
        os.environ["NUTMEG_REGION"] = "upland"
        trips = [{"km": 3 + n} for n in range(50)]
        print("sample fare", fare(trips[0]))
        print("all fares", sum(client.gather(client.map(fare, trips))))


if __name__ == "__main__":
    main()
