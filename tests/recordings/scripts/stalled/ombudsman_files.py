"""Nightly conversion of the ombudsman's case files to plain text for the search index.

The converter is an old command-line program, run once per case.  While cases are converted, one task follows the
mailbox, so that late letters are noted; it ends when the driver says that the night's work is done.
"""

import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import click
from dask.distributed import Client, Event, LocalCluster, as_completed

log = logging.getLogger("ombudsman")

CONVERTER = """
import sys
for number, line in enumerate(open(sys.argv[1])):
    print(f"{number:06} {line.strip().lower()}")
"""


def write_cases(folder, count):
    folder = pathlib.Path(folder)
    (folder / "converter.py").write_text(CONVERTER)
    (folder / "mailbox").mkdir()
    for number in range(count):
        # a complaint about a landlord that came with eleven years of letters
        lines = 9000 if number == 31 else 60 + number * 3
        text = "Dear Sir or Madam, I write again about the heating.\n" * lines
        (folder / f"case-{number:04}.txt").write_text(text)


def convert_case(folder, name):
    """Text of a case, numbered by line; returns the number of characters."""
    command = [
        sys.executable,
        os.path.join(folder, "converter.py"),
        os.path.join(folder, f"{name}.txt"),
    ]
    converter = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    if converter.wait() != 0:
        raise RuntimeError(f"converter gave up on {name}")
    text = converter.stdout.read()
    converter.stdout.close()
    pathlib.Path(folder, f"{name}.out").write_text(text)
    return name, len(text)


def follow_mailbox(folder):
    finished = Event("night-finished")
    letters = set()
    while not finished.is_set():
        letters.update(os.listdir(os.path.join(folder, "mailbox")))
        time.sleep(0.5)
    return len(letters)


@click.command()
@click.option("--cases", default=36, show_default=True)
@click.option("--workers", default=2, show_default=True)
def main(cases, workers):
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    with tempfile.TemporaryDirectory(prefix="cases-") as folder:
        write_cases(folder, cases)
        with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=2,
                memory_limit="400MB",
                dashboard_address=None,
            ) as cluster,
            Client(cluster) as client,
        ):
            mailbox = client.submit(
                follow_mailbox, folder, key="follow-mailbox", priority=10
            )
            names = [f"case-{number:04}" for number in range(cases)]
            futures = [
                client.submit(convert_case, folder, name, key=f"convert-{name}")
                for name in names
            ]
            total = 0
            for done, future in enumerate(as_completed(futures), 1):
                name, size = future.result()
                total += size
                if done % 10 == 0 or done > cases - 3:
                    log.info("%s of %s cases converted, last was %s", done, cases, name)
            Event("night-finished").set()
            log.info("%s characters, %s letters came late", total, mailbox.result())


if __name__ == "__main__":
    main()
