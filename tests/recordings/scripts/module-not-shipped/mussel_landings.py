"""Landings of mussels per harbour and week, from the harbour masters' notes.

Notes come as compressed text, one file per harbour. The rules by which the notes are read are shared with two other
reports and live in the folder `shared`. Workers are kept in a spool folder of their own, which is emptied every night.
"""

import collections
import logging
import pathlib
import subprocess
import sys
import zlib

import dask.bag as db
from distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(levelname)-7s %(name)s  %(message)s")
log = logging.getLogger("landings")

try:
    import lz4.frame as codec
except ImportError:
    log.warning("lz4 is not installed, the notes are packed with zlib")
    codec = zlib

RULES = '''
"""How harbour masters write, and what they mean by it."""
import re

LINE = re.compile(r"(?P<week>W\\\\d+)\\\\s+(?P<boat>\\\\S+)\\\\s+(?P<weight>[\\\\d.]+)\\\\s*(?P<unit>kg|t|bags?)")
UNITS = {"kg": 1.0, "t": 1000.0, "bag": 25.0, "bags": 25.0}

def parse_note(line):
    match = LINE.match(line)
    if match is None:
        return None
    return match["week"], float(match["weight"]) * UNITS[match["unit"]]
'''.replace("\\\\", "\\")

HARBOURS = ["Yerseke", "Bouzigues", "Vilagarcia", "Killary", "Conwy", "Limfjord"]


def write_notes():
    folder = pathlib.Path("notes")
    folder.mkdir(exist_ok=True)
    for index, harbour in enumerate(HARBOURS):
        lines = [
            f"W{45 + n % 4} {harbour[:3].upper()}-{n % 9} {20 + (n * 13 + index) % 70} bags"
            for n in range(400)
        ]
        lines.insert(10, "storm, nobody went out")
        (folder / f"{harbour}.z").write_bytes(codec.compress("\n".join(lines).encode()))
    shared = pathlib.Path("shared")
    shared.mkdir(exist_ok=True)
    (shared / "landing_rules.py").write_text(RULES)


def start_workers(address, count):
    spool = pathlib.Path("spool")
    spool.mkdir(exist_ok=True)
    command = [
        sys.executable,
        "-m",
        "dask",
        "worker",
        address,
        "--nthreads",
        "1",
        "--memory-limit",
        "350MB",
        "--no-dashboard",
        "--no-nanny",
    ]
    return [
        subprocess.Popen([*command, "--name", f"spool-{n}"], cwd=spool)
        for n in range(count)
    ]


def read_notes(harbours):
    lines = []
    for harbour in harbours:
        packed = pathlib.Path(f"notes/{harbour}.z").read_bytes()
        lines += [
            (harbour, line) for line in zlib.decompress(packed).decode().splitlines()
        ]
    return lines


def report(landings, path):
    weeks = collections.Counter()
    for landing in landings:
        if landing is not None:
            week, kilos = landing
            weeks[week] += kilos
    with open(path, "w") as out:
        for week, kilos in sorted(weeks.items()):
            out.write(f"{week};{kilos:.0f}\n")
    return weeks


def main():
    write_notes()
    sys.path.insert(0, "shared")
    from landing_rules import parse_note

    cluster = LocalCluster(n_workers=0, dashboard_address=":0", host="127.0.0.1")
    workers = []
    try:
        with Client(cluster) as client:
            workers = start_workers(cluster.scheduler_address, 2)
            client.wait_for_workers(2, timeout=30)
            lines = read_notes(HARBOURS)
            log.info("%d lines from %d harbours", len(lines), len(HARBOURS))
            landings = db.from_sequence([line for _, line in lines], npartitions=8).map(
                parse_note
            )
            landings = client.compute(landings)
            weeks = report(landings.result(timeout=20), "landings.csv")
            log.info("report of %d weeks written", len(weeks))
    except TimeoutError:
        log.error("no landings within the time of the morning report")
        raise
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait(15)
        cluster.close()


if __name__ == "__main__":
    main()
