"""Counts the subjects of tenants' letters for a housing association.

Letters are scanned to text files by a contractor. Some of them cannot be read (another encoding, no header): these are
skipped with a line in the log and listed for the contractor.
"""

import logging
import random
import sys
import tempfile
from pathlib import Path

import dask.bag as db
from distributed import Client, LocalCluster

log = logging.getLogger("letters")
SUBJECTS = ["repair", "rent", "noise", "heating", "parking"]
TOLERATED = 0.15


class Unreadable(Exception):
    pass


def scans(folder: Path, count: int) -> list:
    rng = random.Random(4)
    paths = []
    for n in range(count):
        subject = rng.choice(SUBJECTS)
        text = (
            f"Subject: {subject}\nHouse: {rng.randint(1, 400)}\n\nDear Sir or Madam,\n"
            + "lorem ipsum " * 40
        )
        data = text.encode()
        if n % 19 == 7:
            data = f"Subject: {subject}\nHouse: 9\n\nWir m\u00f6chten k\u00fcndigen\n".encode(
                "latin-1"
            )
        elif n % 41 == 12:
            data = b"\n\n(blank page)\n"
        path = folder / f"letter-{n:03d}.txt"
        path.write_bytes(data)
        paths.append(str(path))
    return paths


def parse(path: str) -> dict:
    text = Path(path).read_text(encoding="utf-8")
    head, _, body = text.partition("\n\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    if "Subject" not in fields:
        raise Unreadable("no subject line")
    return {"path": path, "subject": fields["Subject"], "words": len(body.split())}


def parse_or_skip(path: str) -> dict:
    try:
        return parse(path)
    except (UnicodeDecodeError, Unreadable) as exc:
        logging.getLogger("letters").warning("skipped %s: %s", Path(path).name, exc)
        return {"path": path, "subject": None, "words": 0}


def usable(letter: dict) -> bool:
    return letter["subject"] is not None


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    with tempfile.TemporaryDirectory(prefix="letters-") as name:
        paths = scans(Path(name), 240)
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="350MB",
            dashboard_address=None,
        )
        client = Client(cluster)
        try:
            letters = (
                db.from_sequence(paths, npartitions=24).map(parse_or_skip).persist()
            )
            subjects = dict(
                letters.filter(usable).pluck("subject").frequencies().compute()
            )
            skipped = letters.remove(usable).pluck("path").compute()
        finally:
            client.close()
            cluster.close()
    for path in skipped:
        log.info("for the contractor: %s", Path(path).name)
    log.info("subjects: %s", subjects)
    share = len(skipped) / len(paths)
    if share > TOLERATED:
        log.error("%.0f %% skipped, that is too much", share * 100)
        return 1
    log.info("%d letters counted, %d skipped", sum(subjects.values()), len(skipped))
    return 0


if __name__ == "__main__":
    sys.exit(main())
