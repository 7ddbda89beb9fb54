"""Nightly settlement of sugar beet deliveries.

Reads the weighbridge tickets of the day, takes off tare and soil, asks the
laboratory for the sugar content and pays the hauliers.  The cluster lives only
as long as the run: the job brings its scheduler and its workers along.
"""

import json
import logging
import random
import subprocess
import sys
import time
from pathlib import Path

from dask.distributed import Client, get_worker

log = logging.getLogger("beet")
FACTORIES = ["Wissington", "Cantley", "Newark", "Bury"]


class Yard:
    """A scheduler and some workers, started with the usual commands."""

    def __init__(self, folder, workers=2):
        self.contact = folder / "yard.json"
        self.procs = []
        self._run(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--dashboard-address",
            ":0",
            "--scheduler-file",
            str(self.contact),
        )
        deadline = time.time() + 20
        while not self.contact.exists() and time.time() < deadline:
            time.sleep(0.2)
        for number in range(workers):
            self._run(
                "worker",
                "--scheduler-file",
                str(self.contact),
                "--nthreads",
                "1",
                "--name",
                f"lorry-{number}",
                "--memory-limit",
                "500MB",
                "--host",
                "127.0.0.1",
                "--no-dashboard",
            )

    def _run(self, *words):
        self.procs.append(subprocess.Popen([sys.executable, "-m", "dask", *words]))

    def stop(self):
        for proc in self.procs:
            proc.terminate()
        for proc in self.procs:
            try:
                proc.wait(15)
            except subprocess.TimeoutExpired:
                proc.kill()
        log.info("yard closed")


def write_tickets(folder):
    rng = random.Random(1128)
    for factory in FACTORIES:
        rows = []
        for number in range(400):
            gross = f"{rng.uniform(18, 44):.2f}"
            if factory == "Newark" and number == 287:
                gross = "31,6O"
            rows.append(
                {
                    "ticket": f"{factory[:2].upper()}{number:05d}",
                    "gross": gross,
                    "empty": f"{rng.uniform(11, 16):.2f}",
                    "haulier": rng.randint(1, 30),
                }
            )
        (folder / f"{factory}.json").write_text(json.dumps(rows))


def load_tickets(path):
    return json.loads(Path(path).read_text())


def sugar_content(factory):
    """The laboratory is slow at night; the average of the campaign does then."""
    try:
        if factory in ("Cantley", "Bury"):
            raise TimeoutError(f"laboratory {factory}: no answer in 2 s")
        return 17.4
    except TimeoutError as problem:
        logging.getLogger("distributed.worker").warning(
            "%s on %s", problem, get_worker().name
        )
        return 16.9


def net_tonnes(rows):
    out = {}
    for row in rows:
        clean = float(row["gross"].replace(",", ".")) - float(row["empty"])
        out.setdefault(row["haulier"], 0.0)
        out[row["haulier"]] += clean * 0.93
    time.sleep(0.5)
    return out


def payments(tonnes, sugar):
    return {
        haulier: round(weight * 28.5 * sugar / 16.0, 2)
        for haulier, weight in tonnes.items()
    }


def total(parts):
    return sum(sum(part.values()) for part in parts)


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    folder = Path.cwd() / "tickets"
    folder.mkdir(exist_ok=True)
    write_tickets(folder)
    yard = Yard(folder)
    client = Client(scheduler_file=str(yard.contact), timeout=20)
    journal = []
    try:
        client.wait_for_workers(2, timeout=30)
        parts = []
        for factory in FACTORIES:
            rows = client.submit(load_tickets, str(folder / f"{factory}.json"))
            sugar = client.submit(sugar_content, factory)
            journal.append(sugar)
            parts.append(
                client.submit(payments, client.submit(net_tonnes, rows), sugar)
            )
        amount = client.submit(total, parts).result(timeout=60)
        print(f"paid {amount:,.2f}")
    finally:
        yard.stop()
        # the journal of the laboratory goes to the accountants in any case
        Path("laboratory.json").write_text(json.dumps(client.gather(journal)))
        client.close()


if __name__ == "__main__":
    main()
