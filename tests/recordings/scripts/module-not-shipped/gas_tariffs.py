"""Gas tariffs: bill a quarter of meter readings under the new tariff bands.

The bands are kept in a module of their own in lib/, since the web shop uses
them too. The cluster's commands are started from here, each in its own folder.
"""

import os
import pathlib
import subprocess
import sys
import time

import dask.bag as db
from distributed import Client

HERE = pathlib.Path.cwd()
LIB = HERE / "lib"
SCRATCH = HERE / "scratch"

BANDS = '''
"""Tariff bands, kept by the pricing team."""

BANDS = [(0, 5_000, 0.118), (5_000, 20_000, 0.102), (20_000, None, 0.094)]


def charge(kwh):
    total = 0.0
    for low, high, price in BANDS:
        upper = kwh if high is None else min(kwh, high)
        if upper > low:
            total += (upper - low) * price
    return round(total, 2)


def bill(reading):
    return {"meter": reading["meter"], "amount": charge(reading["kwh"])}
'''


def install():
    LIB.mkdir(exist_ok=True)
    SCRATCH.mkdir(exist_ok=True)
    (LIB / "tariff_bands.py").write_text(BANDS)
    sys.path.insert(0, str(LIB))


def launch():
    base = {k: v for k, v in os.environ.items()}
    address_file = HERE / "gas.json"
    head_env = dict(
        base,
        PYTHONPATH=os.pathsep.join(filter(None, [str(LIB), base.get("PYTHONPATH")])),
    )
    head = subprocess.Popen(
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
            str(address_file),
        ],
        env=head_env,
        cwd=HERE,
    )
    nodes = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                "worker",
                "--scheduler-file",
                str(address_file),
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--no-dashboard",
                "--name",
                f"node{n}",
            ],
            env=base,
            cwd=SCRATCH,
        )
        for n in (1, 2)
    ]
    return address_file, [head, *nodes]


def readings(n):
    return [{"meter": f"G{i:05}", "kwh": 900 + (i * 7919) % 31_000} for i in range(n)]


def smoke_test(client):
    """The cluster answers and adds up, before anything expensive is sent."""
    total = client.submit(sum, [1, 2, 3]).result(timeout=20)
    assert total == 6, total
    print("cluster is fine", flush=True)


def main():
    install()
    import tariff_bands

    print(
        "most expensive household:",
        tariff_bands.bill({"meter": "test", "kwh": 31_899}),
        flush=True,
    )
    address_file, procs = launch()
    started = time.time()
    try:
        with Client(scheduler_file=str(address_file), timeout="20s") as client:
            client.wait_for_workers(2, timeout=20)
            smoke_test(client)
            bills = db.from_sequence(readings(4_000), npartitions=8).map(
                tariff_bands.bill
            )
            total = client.compute(bills.pluck("amount").sum(), retries=1).result(
                timeout=20
            )
            print(f"quarter: {total:,.2f} EUR")
    finally:
        for proc in reversed(procs):
            proc.terminate()
        for proc in procs:
            proc.wait(10)
        print(f"cluster was up for {time.time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
