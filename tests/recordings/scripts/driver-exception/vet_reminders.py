#!/usr/bin/env python
"""Vaccination reminders: one task per clinic, the letters go to the outbox database.

Runs at 01:30. The mail house collects the outbox at 04:00.
"""

import argparse
import datetime as dt
import logging
import os
import queue
import random
import sqlite3
import tempfile
import threading
import time

from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("vet_reminders")

VACCINES = {"rabies": 1095, "distemper": 365, "leptospirosis": 365, "cat flu": 365}
CHANNELS = ("post", "mail", "sms")
SCHEMA = """
create table reminders (
    pet_id   integer not null,
    vaccine  text not null,
    due      text not null,
    channel  text not null,
    primary key (pet_id, vaccine)
)
"""


def owner_channel(rng, clinic, pet_id):
    """Preferred channel of the owner as the clinic's software exports it."""
    if clinic == 17 and pet_id % 100 == 31:
        return None
    return rng.choice(CHANNELS)


def build_reminders(clinic, today):
    """All reminders of one clinic that fall due within the next 30 days."""
    rng = random.Random(clinic)
    time.sleep(0.15 + rng.random() * 0.1)  # the practice software answers slowly
    rows = []
    for n in range(60):
        pet_id = clinic * 100 + n
        vaccine = rng.choice(sorted(VACCINES))
        last = today - dt.timedelta(days=rng.randint(0, 1100))
        due = last + dt.timedelta(days=VACCINES[vaccine])
        if n == 31 or due <= today + dt.timedelta(days=30):
            rows.append(
                (pet_id, vaccine, due.isoformat(), owner_channel(rng, clinic, pet_id))
            )
    return clinic, rows


def write_outbox(path, rows_q):
    """Thread: everything that arrives in the queue goes to the database, until None comes."""
    db = sqlite3.connect(path)
    db.execute(SCHEMA)
    written = 0
    while True:
        item = rows_q.get()
        if item is None:
            break
        clinic, rows = item
        with db:
            db.executemany("insert into reminders values (?, ?, ?, ?)", rows)
        written += len(rows)
        log.info("clinic %d: %d reminders (%d in all)", clinic, len(rows), written)
    db.close()


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--clinics", type=int, default=48)
    p.add_argument(
        "--patience", type=float, default=25.0, help="seconds to wait for the outbox"
    )
    p.add_argument(
        "--backlog", type=int, default=4, help="clinics held in memory at most"
    )
    return p.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    today = dt.date(2026, 11, 27)
    with tempfile.TemporaryDirectory(prefix="vet-") as folder:
        outbox = os.path.join(folder, "outbox.sqlite")
        rows_q = queue.Queue(maxsize=args.backlog)
        writer = threading.Thread(
            target=write_outbox,
            args=(outbox, rows_q),
            name="outbox-writer",
            daemon=True,
        )
        writer.start()
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="250MB",
                dashboard_address=":0",
            ) as cluster,
            Client(cluster) as client,
        ):
            log.info("%d clinics on %s", args.clinics, client.scheduler.address)
            futures = client.map(
                build_reminders, range(1, args.clinics + 1), today=today, pure=False
            )
            done = 0
            for _, result in as_completed(futures, with_results=True):
                rows_q.put(result, timeout=args.patience)
                done += 1
                if done % 10 == 0:
                    log.info("%d of %d clinics handed over", done, args.clinics)
            rows_q.put(None, timeout=args.patience)
            writer.join(args.patience)
        db = sqlite3.connect(outbox)
        (total,) = db.execute("select count(*) from reminders").fetchone()
        db.close()
        log.info("outbox complete: %d reminders", total)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
