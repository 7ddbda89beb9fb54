"""Osier beds: harvest weights of the willow growers' hand terminals.

Terminals upload gzipped JSON lines.  A first small cluster takes stock of
what came in, a second one reads it; the office gets a mail if the night went
wrong.
"""

import collections
import configparser
import gzip
import json
import random
import smtplib
from email.message import EmailMessage
from pathlib import Path

import pandas as pd
from dask.distributed import Client, LocalCluster

CONFIG = """
[intake]
folder = uploads
terminals = 18
[mail]
host = 127.0.0.1
port = 9
to = office@osier.example
"""


def receive(folder, terminals):
    """What the terminals sent in the evening."""
    folder.mkdir(exist_ok=True)
    rng = random.Random(4)
    for t in range(terminals):
        lines = [
            json.dumps(
                {
                    "bed": rng.randrange(40),
                    "bundles": rng.randrange(5, 60),
                    "kg": rng.uniform(20, 90),
                }
            )
            for _ in range(600)
        ]
        data = bytearray(gzip.compress("\n".join(lines).encode(), mtime=0))
        if t == 11:  # this one was on the ferry
            data[-8:-4] = bytes(4)
        (folder / f"terminal-{t:02}.jsonl.gz").write_bytes(bytes(data))
    (folder / "terminal-18.jsonl.gz").write_bytes(b"")


def take_stock(path):
    size = path.stat().st_size
    if not size:
        raise ValueError(f"{path.name} is empty")
    return path, size


def read_terminal(path):
    rows = []
    with gzip.open(path, "rt") as lines:
        for line in lines:
            rows.append(json.loads(line))
    frame = pd.DataFrame(rows)
    frame["terminal"] = path.name.split(".")[0]
    return frame


def by_bed(frames):
    return pd.concat(frames).groupby("bed")[["bundles", "kg"]].sum()


def tell_office(mail, exc):
    message = EmailMessage()
    message["To"] = mail["to"]
    message["Subject"] = "osier intake"
    message.set_content(f"The intake did not finish: {exc!r}")
    with smtplib.SMTP(mail["host"], mail.getint("port"), timeout=5) as server:
        server.send_message(message)


def stock(folder):
    counts = collections.Counter()
    good = []
    with LocalCluster(
        n_workers=1, threads_per_worker=2, memory_limit="300MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            for future in client.map(take_stock, sorted(folder.glob("*.gz"))):
                if future.exception() is not None:
                    counts["skipped"] += 1
                else:
                    counts["usable"] += 1
                    good.append(future.result()[0])
    print(dict(counts))
    return good


def intake(paths):
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            frames = client.map(read_terminal, paths)
            return client.submit(by_bed, frames).result()


def main():
    config = configparser.ConfigParser()
    config.read_string(CONFIG)
    folder = Path(config["intake"]["folder"])
    receive(folder, config["intake"].getint("terminals"))
    try:
        table = intake(stock(folder))
    except Exception as exc:
        tell_office(config["mail"], exc)
        raise
    table.to_csv("beds.csv")


if __name__ == "__main__":
    main()
