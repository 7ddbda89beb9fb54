"""Quotes for submarine cable capacity: every route is priced with the tariff bands that sales agreed on for the quarter.

The bands are generated into a little module by the sales tool. The job runs on a cluster of its own,
and is tried a second time on a fresh one when anything goes wrong, because the machines under it are old.
"""

import contextlib
import importlib
import logging
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, wait

log = logging.getLogger("quotes")
HERE = Path(__file__).resolve().parent
ATTEMPTS = 2
PATIENCE = 6.0

BANDS = '''"""Written by the sales tool, quarter 4."""

BANDS = [(1_000, 0.91), (10_000, 0.74), (100_000, 0.58)]


def price_route(route):
    name, kilometres, gigabits = route
    for limit, euro in BANDS:
        if gigabits <= limit:
            return name, round(kilometres * gigabits * euro / 1000, 2)
    raise ValueError(f"no band for {gigabits} Gbit/s")
'''

ROUTES = [
    ("bilbao-virginia", 6600, 400),
    ("marseille-djibouti", 7100, 1200),
    ("lagos-fortaleza", 5600, 800),
    ("oslo-newcastle", 720, 12_000),
    ("perth-muscat", 9800, 640),
    ("hongkong-guam", 3500, 24_000),
]


@contextlib.contextmanager
def own_cluster(workers: int):
    """Scheduler here, each worker in a scratch folder of its own so that they don't mix their files up."""
    children = []
    with tempfile.TemporaryDirectory(prefix="quotes-") as scratch:
        contact = Path(scratch) / "scheduler.json"
        try:
            children.append(
                subprocess.Popen(
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
                        str(contact),
                    ],
                    cwd=HERE,
                )
            )
            for number in range(workers):
                place = Path(scratch) / f"node{number}"
                place.mkdir()
                children.append(
                    subprocess.Popen(
                        [
                            sys.executable,
                            "-m",
                            "dask",
                            "worker",
                            "--scheduler-file",
                            str(contact),
                            "--nthreads",
                            "1",
                            "--no-nanny",
                            "--memory-limit",
                            "350MB",
                            "--no-dashboard",
                            "--name",
                            f"node{number}",
                        ],
                        cwd=place,
                    )
                )
            while not contact.exists():
                time.sleep(0.1)
            with Client(scheduler_file=str(contact), timeout=30) as client:
                client.wait_for_workers(workers, timeout=30)
                yield client
        finally:
            for child in reversed(children):
                child.terminate()
            for child in children:
                child.wait(timeout=10)


def exchange_rate(currency: str) -> float:
    return {"EUR": 1.0, "USD": 1.08, "GBP": 0.86}[currency]


def quote_all(price_route) -> dict:
    with own_cluster(workers=2) as client:
        rates = dict(
            zip(
                ("EUR", "USD", "GBP"),
                client.gather(client.map(exchange_rate, ["EUR", "USD", "GBP"])),
            )
        )
        priced = client.map(price_route, ROUTES)
        wait(priced, timeout=PATIENCE)
        quotes = client.gather(priced)
        return {
            name: {unit: round(euro * rate) for unit, rate in rates.items()}
            for name, euro in quotes
        }


def main() -> None:
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    (HERE / "tariff_bands.py").write_text(BANDS)
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    tariff_bands = importlib.import_module("tariff_bands")
    for attempt in range(1, ATTEMPTS + 1):
        try:
            quotes = quote_all(tariff_bands.price_route)
        except Exception:
            log.warning(
                "attempt %d of %d did not work out, fresh cluster", attempt, ATTEMPTS
            )
            continue
        print(quotes)
        return
    raise RuntimeError(
        f"quotes not ready after {ATTEMPTS} attempts, call the night desk"
    )


if __name__ == "__main__":
    main()
