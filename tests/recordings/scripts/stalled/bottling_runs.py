"""Night planning of a mineral water plant: every order gets its slots on the filler and on the capper.

The two machines have one calendar each, a file that only one planner may change at a time. The plan must be there
at half past five; if it is not, the shift leader takes yesterday's.
"""

import json
import logging
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from distributed import Client, LocalCluster, Lock, wait

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("bottling")

PATIENCE = 14.0


@dataclass
class Order:
    number: int
    product: str
    bottles: int
    returnable: bool


def forecast_demand(product: str) -> int:
    level = 0.0
    for day in range(120_000):
        level = 0.97 * level + (len(product) * 31 + day) % 17
    return int(level * 100)


def book(calendar: str, machine: str, order: dict) -> None:
    path = Path(calendar) / f"{machine}.json"
    slots = json.loads(path.read_text()) if path.exists() else []
    slots.append({"order": order["number"], "minutes": order["bottles"] // 400})
    path.write_text(json.dumps(slots))


def book_crates(calendar: str, order: dict) -> str:
    """Returnable bottles are washed and filled first, the caps follow."""
    with Lock("calendar-filler"):
        book(calendar, "filler", order)
        time.sleep(1.5)  # asks the washing line for its temperature
        with Lock("calendar-capper"):
            book(calendar, "capper", order)
    return f"order {order['number']}: crates"


def book_cartons(calendar: str, order: dict) -> str:
    """One-way bottles depend on the cap colour, so the capper is booked first."""
    with Lock("calendar-capper"):
        book(calendar, "capper", order)
        time.sleep(1.5)  # asks the store for the caps in stock
        with Lock("calendar-filler"):
            book(calendar, "filler", order)
    return f"order {order['number']}: cartons"


def plan(client: Client, calendar: str) -> list[str]:
    demand = client.map(forecast_demand, ["still", "medium", "classic", "lemon"])
    still, medium, classic, lemon = client.gather(demand)
    orders = [
        Order(7101, "classic", classic, True),
        Order(7102, "still", still, False),
        Order(7103, "medium", medium, True),
        Order(7104, "lemon", lemon, False),
    ]
    booked = [
        client.submit(
            book_crates if order.returnable else book_cartons,
            calendar,
            asdict(order),
            pure=False,
        )
        for order in orders
    ]
    wait(booked, timeout=PATIENCE)
    return client.gather(booked)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="calendars-") as calendar:
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        )
        client = Client(cluster)
        started = time.monotonic()
        try:
            lines = plan(client, calendar)
        except TimeoutError:
            log.error(
                "no bottling plan after %.0f s, the shift leader takes yesterday's",
                time.monotonic() - started,
            )
            sys.exit(75)
        finally:
            client.close()
            cluster.close()
        print("\n".join(lines))


if __name__ == "__main__":
    main()
