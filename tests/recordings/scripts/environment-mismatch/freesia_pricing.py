"""Auction prices of cut freesias: quote every lot for the morning clock.

The price library is deployed as numbered releases next to the job; `current` points to the release in use.
"""

import logging
import os
import pathlib
import subprocess
import sys
import textwrap

from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("freesia")
DEPLOY = pathlib.Path("deploy").absolute()


def write_releases():
    """What the deployment did over the last weeks."""
    sources = {
        "release_41": """
            VERSION = "4.1"

            def quote_lot(lot):
                return round(lot["stems"] * 0.31 * lot["grade"], 2)
        """,
        "release_42": """
            VERSION = "4.2"

            def quote_lot(lot, clock_zone):
                surcharge = {"north": 0.02, "south": 0.0}[clock_zone]
                return round(lot["stems"] * (0.31 + surcharge) * lot["grade"], 2)
        """,
    }
    for release, source in sources.items():
        (DEPLOY / release).mkdir(parents=True, exist_ok=True)
        (DEPLOY / release / "stem_rates.py").write_text(textwrap.dedent(source))


def point_current(release):
    current = DEPLOY / "current"
    current.unlink(missing_ok=True)
    current.symlink_to(DEPLOY / release)


def start_workers(address, number):
    # the workers run as a service with their own settings
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str((DEPLOY / "current").resolve()), env.get("PYTHONPATH")])
    )
    return [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                "worker",
                address,
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--no-dashboard",
                "--name",
                f"clock-{index}",
                "--local-directory",
                f"scratch-{index}",
            ],
            env=env,
        )
        for index in range(number)
    ]


def read_lots(page):
    return [
        {"lot": page * 50 + n, "stems": 40 + n * 7 % 90, "grade": 1 + n % 3 / 10}
        for n in range(50)
    ]


def quote_page(lots, quote, zone):
    return [(lot["lot"], quote(lot, zone)) for lot in lots]


def main():
    write_releases()
    point_current("release_41")
    cluster = LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None)
    workers = start_workers(cluster.scheduler_address, 2)
    client = Client(cluster)
    try:
        client.wait_for_workers(2, timeout=20)

        point_current("release_42")
        sys.path.insert(0, str(DEPLOY / "current"))
        import stem_rates

        log.info("prices by stem_rates %s", stem_rates.VERSION)
        pages = client.map(read_lots, range(8))
        quoted = client.map(quote_page, pages, quote=stem_rates.quote_lot, zone="north")
        prices = dict(lot for page in client.gather(quoted) for lot in page)
        log.info("%d lots quoted, %.2f in all", len(prices), sum(prices.values()))
    finally:
        client.close()
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait(15)
        cluster.close()


if __name__ == "__main__":
    main()
