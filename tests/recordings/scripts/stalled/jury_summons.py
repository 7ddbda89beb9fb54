"""Prints the jury summons of the coming session.

Letters are composed on a small Dask cluster as soon as the rolls of a borough
are read; a thread of this process puts them one after the other into the
printer's spool file, so that the printer gets an ordered stream.
"""

import logging
import queue
import random
import threading
import time
from pathlib import Path

import yaml
from dask.distributed import Client, as_completed

SETTINGS = """
boroughs: [Ashdown, Birchwood, Castle, Docklands, Eastgate, Foxhill]
session: 2026-12-07
batch: 20
spool_depth: 6
"""

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(threadName)s %(message)s")
log = logging.getLogger("summons")


def read_roll(borough, batch):
    rng = random.Random(borough)
    people = []
    for number in range(batch):
        people.append(
            {
                "name": f"Citizen {borough[:2].upper()}{number:03d}",
                "street": f"{rng.randrange(1, 180)} {rng.choice(['Mill', 'Church', 'Station'])} Road",
                # people without a fixed address are summoned through the court's counter
                "postcode": None
                if borough == "Castle" and number == 11
                else f"{borough[0]}{number} {rng.randrange(1, 9)}QX",
                "borough": borough,
            }
        )
    time.sleep(0.3)
    return people


def compose(people, session):
    letters = []
    for person in people:
        text = f"To {person['name']},\n{person['street']}\nYou are summoned for {session}.\n"
        letters.append({**person, "text": text})
    time.sleep(0.4)
    return letters


class Spool:
    """Ordered output for the printer, filled by one thread."""

    def __init__(self, path, depth):
        self.path = Path(path)
        self.waiting = queue.Queue(maxsize=depth)
        self.thread = threading.Thread(
            target=self.write_letters, name="spool-writer", daemon=True
        )
        self.thread.start()

    def write_letters(self):
        with open(self.path, "w") as handle:
            while True:
                letter = self.waiting.get()
                if letter is None:
                    return
                handle.write(letter["postcode"].strip().rjust(40) + "\n")
                handle.write(letter["text"] + "\f")
                handle.flush()

    def add(self, letter):
        self.waiting.put(letter)

    def close(self):
        self.waiting.put(None)
        self.thread.join()


def main():
    settings = yaml.safe_load(SETTINGS)
    client = Client(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    )
    spool = Spool("session.spool", settings["spool_depth"])
    try:
        letters = []
        for borough in settings["boroughs"]:
            roll = client.submit(read_roll, borough, settings["batch"])
            letters.append(client.submit(compose, roll, str(settings["session"])))
        printed = 0
        for future in as_completed(letters):
            for letter in future.result():
                spool.add(letter)
                printed += 1
            log.info("%d letters handed to the spool", printed)
    finally:
        spool.close()
        client.close()
    log.info("session of %s: %d letters", settings["session"], printed)


if __name__ == "__main__":
    main()
