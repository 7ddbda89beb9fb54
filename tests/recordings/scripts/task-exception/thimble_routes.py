"""Plan the thimble delivery routes; each depot's planner is a program of its own on the shared cluster."""

import subprocess
import sys
import tempfile
from pathlib import Path

from distributed import Client, LocalCluster

PLANNER = """
import sys
from distributed import Client


def leg_speed(leg):
    km, minutes = leg
    return km / (minutes / 60)


def main(address, depot):
    legs = [(12 + n, 15 + n) for n in range(10)]
    if depot == "mill":
        legs.append((4, 0))
    with Client(address) as client:
        speeds = client.gather(client.map(leg_speed, legs))
    print(depot, round(max(speeds)))


main(*sys.argv[1:])
"""


def main():
    with tempfile.TemporaryDirectory() as tmp:
        planner = Path(tmp) / "planner.py"
        planner.write_text(PLANNER)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=None,
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            client.wait_for_workers(2)
            for depot in ["quay", "mill", "gate"]:
                subprocess.run(
                    [sys.executable, str(planner), cluster.scheduler_address, depot],
                    check=True,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )


if __name__ == "__main__":
    main()
