"""Weekly audit of walnut orders. Exit status tells the scheduler whether to page someone."""

import sys
import tempfile
from datetime import date

from distributed import Client, LocalCluster, as_completed


def parse_due(text):
    day, month, year = text.split(".")
    return date(int(year), int(month), int(day))


def audit_order(order):
    due = parse_due(order["due"])
    return order["id"], (date(2026, 12, 31) - due).days


def orders():
    for n in range(24):
        yield {
            "id": 7000 + n,
            "due": "31.09.2026" if n % 4 == 1 else f"{1 + n}.09.2026",
        }


def main():
    failed = 0
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
        futures = client.map(audit_order, list(orders()))
        late = {}
        for future in as_completed(futures):
            try:
                number, days = future.result()
                late[number] = days
            except Exception:
                failed += 1
        print("audited", len(late), "orders")
    if failed:
        sys.exit(f"{failed} of {len(futures)} orders failed")


if __name__ == "__main__":
    main()
