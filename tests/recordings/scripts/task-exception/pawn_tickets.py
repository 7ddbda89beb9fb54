"""Month end of the pawn shops: interest is accrued on every open ticket and written to one statement per branch.

The job brings its own scheduler and workers, as the branch server has no cluster manager.
"""

import csv
import logging
import pathlib
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client, as_completed

log = logging.getLogger("pawn")
BRANCHES = ["Aarhus", "Bergen", "Malmo", "Odense", "Turku", "Vaasa"]
MONTHLY = {"DKK": 0.021, "NOK": 0.019, "EUR": 0.017}


class Farm:
    """Scheduler and workers as plain processes."""

    def __init__(self, folder, count):
        self.file = pathlib.Path(folder) / "scheduler.json"
        self.scheduler = subprocess.Popen(
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
                str(self.file),
            ]
        )
        self.workers = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "dask",
                    "worker",
                    "--scheduler-file",
                    str(self.file),
                    "--no-nanny",
                    "--nthreads",
                    "1",
                    "--no-dashboard",
                    "--name",
                    f"till-{number}",
                    "--memory-limit",
                    "400MB",
                ]
            )
            for number in range(count)
        ]

    def tear_down(self):
        log.info("stopping the scheduler and %d workers", len(self.workers))
        for process in [self.scheduler, *self.workers]:
            process.terminate()
            time.sleep(0.3)
        for process in [self.scheduler, *self.workers]:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def write_books(folder):
    for place, branch in enumerate(BRANCHES):
        with open(folder / f"{branch}.csv", "w", newline="") as out:
            rows = csv.writer(out)
            rows.writerow(["ticket", "pledge", "currency"])
            for number in range(400):
                currency = ["DKK", "NOK", "EUR"][place % 3]
                if branch == "Malmo" and number > 350:
                    currency = "SEK"
                rows.writerow(
                    [f"{branch[:2]}{number:05d}", 100 + number % 70, currency]
                )


def holiday_list(folder):
    return (pathlib.Path(folder) / "holidays.txt").read_text().split()


def open_tickets(folder, branch):
    time.sleep(0.3)
    with open(pathlib.Path(folder) / f"{branch}.csv", newline="") as book:
        return list(csv.DictReader(book))


def accrue_interest(tickets, days):
    time.sleep(1.0)
    total = 0.0
    for ticket in tickets:
        total += float(ticket["pledge"]) * MONTHLY[ticket["currency"]] * days / 30
    return round(total, 2)


def reconcile(total):
    time.sleep(4)
    return total * 1.0


def month_end(client, folder):
    days = 30
    try:
        days -= len(client.submit(holiday_list, str(folder)).result())
    except FileNotFoundError:
        log.warning("no holiday list this month, every day counts")
    totals, checks = {}, []
    for branch in BRANCHES:
        tickets = client.submit(
            open_tickets, str(folder), branch, key=f"open_tickets-{branch}"
        )
        total = client.submit(
            accrue_interest, tickets, days, key=f"accrue_interest-{branch}"
        )
        totals[total] = branch
        checks.append(client.submit(reconcile, total, key=f"reconcile-{branch}"))
    for future in as_completed(totals):
        log.info("%s accrued %s", totals[future], future.result())
    return client.gather(checks)


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    done = False
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_books(folder)
        farm = Farm(folder, 2)
        client = None
        try:
            client = Client(scheduler_file=str(farm.file), timeout=20)
            client.wait_for_workers(2, timeout=20)
            month_end(client, folder)
            done = True
        except Exception as error:
            log.error("month end stopped: %s: %s", type(error).__name__, error)
        finally:
            farm.tear_down()
            if client is not None:
                client.close(timeout=2)
    if not done:
        sys.exit("pawn month end failed")


if __name__ == "__main__":
    main()
