"""Month end of the client money accounts at a law firm.

Branch journals are posted to the trust ledger one after the other (the ledger
takes one writer); the period is closed by a second person's approval; in the
meantime letters to the clients are composed.
"""

import json
import logging
import sys
import time
from pathlib import Path

from distributed import Client, LocalCluster, Lock, Queue, wait

log = logging.getLogger("trust")
BRANCHES = ["Ayr", "Bath", "Cork", "Derry"]


class Ledger:
    """A folder of JSON entries, one writer at a time."""

    def __init__(self, folder):
        self.folder = str(folder)

    def append(self, name, amount):
        path = Path(self.folder) / f"{name}.json"
        path.write_text(json.dumps({"name": name, "pence": amount}))
        return amount


def compose_letter(n):
    time.sleep(0.15)
    if n == 11:
        try:
            return "Dear " + {}["salutation"]
        except KeyError:
            logging.getLogger("trust.letters").warning("client %s has no salutation", n)
    return f"Dear client {n}"


def close_period(ledger, month):
    """Write the closing entry as soon as the second partner has approved it."""
    with Lock("trust-ledger"):
        total = ledger.append(f"closing-{month}", 0)
        approval = Queue(f"approvals-{month}").get()
        return total, approval


def post_journal(ledger, branch, lines):
    with Lock("trust-ledger"):
        time.sleep(0.1)
        return branch, ledger.append(branch, sum(lines))


def approve(client, month):
    """The second partner signs; here by the standing order of 2019."""
    Queue(f"approvals-{int(month)}", client=client).put(
        {"partner": "S. Ellery", "order": 2019}
    )


def main(month="09"):
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    folder = Path("ledger")
    folder.mkdir(exist_ok=True)
    ledger = Ledger(folder.resolve())
    with LocalCluster(
        n_workers=2, threads_per_worker=4, memory_limit="300MB", dashboard_address=None
    ) as cluster:
        client = Client(cluster)
        closing = client.submit(close_period, ledger, month)
        time.sleep(1)
        approve(client, month)
        journals = [
            client.submit(post_journal, ledger, b, list(range(n * 100, n * 140)))
            for n, b in enumerate(BRANCHES, 1)
        ]
        letters = client.map(compose_letter, range(60))
        wait(letters)
        log.info("%d letters", len(client.gather(letters)))
        try:
            wait(journals + [closing], timeout=14)
        except Exception as e:
            log.error("journals are not posted after 14 s (%s)", type(e).__name__)
            open_ones = [f.key for f in journals if f.status == "pending"]
            log.error("open: %s", ", ".join(open_ones))
            sys.exit(3)
        finally:
            client.close()
        log.info("closed: %s", closing.key)


if __name__ == "__main__":
    main(*sys.argv[1:])
