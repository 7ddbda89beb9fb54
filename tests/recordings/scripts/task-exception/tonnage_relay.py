"""Weekly tonnage relay: stage 'collect' publishes the week on the shared scheduler, stage 'report' reads it."""

import os
import socket
import subprocess
import sys
import tempfile
import time

import pandas as pd
from dask.distributed import Client

WEEK = "tonnage-week-31"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def read_quay(quay):
    tons = [820, 1130, 940, 760, 1210, 655, 890]
    if quay == "Q4":
        tons[5] = "n/a"  # the scale was under repair on Saturday
    time.sleep(0.3)
    return pd.DataFrame({"quay": quay, "day": range(7), "tons": tons})


def to_kilotons(frame):
    frame["kt"] = frame["tons"].map(lambda t: round(t / 1000, 3))
    return frame[["quay", "day", "kt"]]


def collect(address):
    import dask
    import dask.dataframe as dd  # slow to import, the report does not need it

    with Client(address) as client:
        weeks = [
            dask.delayed(to_kilotons)(dask.delayed(read_quay)(q))
            for q in ("Q1", "Q2", "Q3", "Q4", "Q5")
        ]
        meta = pd.DataFrame(
            {
                "quay": pd.Series(dtype="str"),
                "day": pd.Series(dtype="int64"),
                "kt": pd.Series(dtype="float64"),
            }
        )
        table = client.persist(dd.from_delayed(weeks, meta=meta))
        total = table.kt.sum().compute()
        client.publish_dataset(table, name=WEEK)
        print(f"collected {total:.1f} kt")


def report(address):
    with Client(address) as client:
        table = client.get_dataset(WEEK)
        print(table.groupby("quay").kt.sum().compute())


def relay():
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    scratch = tempfile.mkdtemp()
    logs = open(os.path.join(scratch, "cluster.log"), "w")
    base = [sys.executable, "-m", "dask"]
    procs = [
        subprocess.Popen(
            base
            + [
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
                "--no-dashboard",
            ],
            stdout=logs,
            stderr=logs,
        ),
        subprocess.Popen(
            base
            + [
                "worker",
                address,
                "--nthreads",
                "2",
                "--no-dashboard",
                "--no-nanny",
                "--local-directory",
                scratch,
            ],
            stdout=logs,
            stderr=logs,
        ),
    ]
    try:
        time.sleep(3)
        for stage in ("collect", "report"):
            started = time.time()
            # the report also serves the quays which did deliver, so only the last stage decides
            done = subprocess.run(
                [sys.executable, os.path.abspath(__file__), stage, address],
                check=stage == "report",
                timeout=60,
            )
            print(
                f"stage {stage}: rc={done.returncode} after {time.time() - started:.0f}s",
                flush=True,
            )
    finally:
        for p in reversed(procs):
            p.terminate()
            p.wait(10)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        {"collect": collect, "report": report}[sys.argv[1]](sys.argv[2])
    else:
        relay()
