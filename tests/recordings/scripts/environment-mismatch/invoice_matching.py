"""Matches carrier invoices with freight tariffs.

The tariff rules live in a package of releases: one folder each, "current" names the one to use.  The matching job
and its scheduler run in the control room, the workers are started by the site's own start script, as a service.
"""

import argparse
import logging
import os
import subprocess
import sys
from pathlib import Path

log = logging.getLogger("invoice_matching")

RULES_42 = '''
"""Tariff rules, release 42: fuel surcharge by week."""
VERSION = 42
BASE = {"parcel": 4.1, "pallet": 38.0, "full": 410.0}
SURCHARGE = {44: 0.081, 45: 0.079, 46: 0.084, 47: 0.09}


def freight(kind, distance):
    return BASE[kind] * (1 + distance / 900)


def freight_with_fuel(invoice):
    price = freight(invoice["kind"], invoice["distance"])
    return round(price * (1 + SURCHARGE[invoice["week"]]), 2)


def difference(invoice, expected):
    return invoice["number"], round(invoice["amount"] - expected, 2)
'''

RULES_41 = '''
"""Tariff rules, release 41."""
VERSION = 41
BASE = {"parcel": 3.9, "pallet": 37.0, "full": 402.0}


def freight(kind, distance):
    return BASE[kind] * (1 + distance / 900)


def difference(invoice, expected):
    return invoice["number"], round(invoice["amount"] - expected, 2)
'''

SERVICE = """
import os, subprocess, sys
release = open("SERVICE_RELEASE").read().strip()
path = os.pathsep.join(filter(None, [os.path.abspath(release), os.environ.get("PYTHONPATH")]))
environment = dict(os.environ, PYTHONPATH=path)
sys.exit(subprocess.call([sys.executable, "-m", "dask", "worker", "--scheduler-file", "scheduler.json", "--nthreads", "1",
    "--nworkers", "2", "--memory-limit", "300MB", "--no-dashboard", "--death-timeout", "30"], env=environment))
"""


def deploy():
    """The state of the site after this week's roll-out."""
    for number, text in ((41, RULES_41), (42, RULES_42)):
        folder = Path(f"release_{number}")
        folder.mkdir(exist_ok=True)
        (folder / "tariff_rules.py").write_text(text)
    Path("CURRENT").write_text("release_42\n")
    Path("SERVICE_RELEASE").write_text("release_41\n")
    Path("worker_service.py").write_text(SERVICE)


def invoices(count):
    import random

    rng = random.Random(2026)
    for number in range(count):
        kind = rng.choice(["parcel", "pallet", "full"])
        yield {
            "number": f"R{number:05d}",
            "kind": kind,
            "distance": rng.randrange(20, 900),
            "week": rng.choice([44, 45, 46, 47]),
            "amount": round(rng.uniform(4, 700), 2),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--invoices", type=int, default=60)
    args = parser.parse_args()
    logging.basicConfig(level="INFO", format="%(levelname)s %(name)s %(message)s")

    deploy()
    current = os.path.abspath(Path("CURRENT").read_text().strip())
    sys.path.insert(0, current)
    import tariff_rules
    from distributed import Client, wait

    log.info("tariff rules of release %s", tariff_rules.VERSION)

    scheduler = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            "scheduler.json",
        ],
        env=dict(
            os.environ,
            PYTHONPATH=os.pathsep.join(
                filter(None, [current, os.environ.get("PYTHONPATH")])
            ),
        ),
    )
    service = subprocess.Popen(
        [sys.executable, "worker_service.py"], start_new_session=True
    )
    try:
        with Client(scheduler_file="scheduler.json", timeout=20) as client:
            client.wait_for_workers(2, timeout=25)
            rows = list(invoices(args.invoices))
            # a first look without fuel, which the auditors keep
            plain = client.gather(
                [
                    client.submit(tariff_rules.freight, row["kind"], row["distance"])
                    for row in rows
                ]
            )
            log.info("freight without fuel: %.2f", sum(plain))
            expected = client.map(tariff_rules.freight_with_fuel, rows)
            differences = client.map(tariff_rules.difference, rows, expected)
            wait(differences, timeout=18)
            open_rows = [
                number
                for number, value in client.gather(differences)
                if abs(value) > 50
            ]
            log.info("%d invoices to look at", len(open_rows))
    finally:
        import signal

        os.killpg(service.pid, signal.SIGTERM)
        try:
            service.wait(8)
        except subprocess.TimeoutExpired:
            os.killpg(service.pid, signal.SIGKILL)
        scheduler.terminate()
        scheduler.wait(10)


if __name__ == "__main__":
    main()
