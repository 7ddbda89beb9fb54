"""Customs duty per consignment; tasks are keyed by tariff line so that reruns are cheap."""

import time

from dask.distributed import Client, LocalCluster

CONSIGNMENTS = [
    {"id": 1, "country": "NO", "line": "0302", "value": 1000, "rate": 0.02},
    {"id": 2, "country": "CL", "line": "0302", "value": 3000, "rate": 0.08},
    {"id": 3, "country": "MA", "line": "0805", "value": 500, "rate": 0.05},
    {"id": 4, "country": "US", "line": "8471", "value": 9000, "rate": 0.0},
    {"id": 5, "country": "MA", "line": "6109", "value": 700, "rate": 0.12},
]


def duty(c):
    time.sleep(0.1)
    return round(c["value"] * c["rate"], 2)


def main():
    declared = sum(round(c["value"] * c["rate"], 2) for c in CONSIGNMENTS)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            futures = [
                client.submit(duty, c, key=f"duty-{c['line']}") for c in CONSIGNMENTS
            ]
            charged = sum(client.gather(futures))
    if abs(charged - declared) > 0.01:
        raise AssertionError(
            f"charged {charged:.2f} differs from declared {declared:.2f}"
        )
    print("duty", charged)


if __name__ == "__main__":
    main()
