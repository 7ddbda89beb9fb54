"""Charter archive: scan lines of folios are unfolded and their ink is measured.

The catalogue is checked on a small cluster inside the process, the scans go to two workers of their own.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
from dask.distributed import Client, KilledWorker, LocalCluster

FOLIOS = [f"folio_{number:02d}" for number in range(1, 11)]
os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")


def write_scans(folder):
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(11)
    for folio in FOLIOS:
        pixels = rng.integers(0, 255, size=(600, 800), dtype="uint8")
        pixels.tofile(folder / f"{folio}.raw")
        header = {"lines": 600, "width": 800, "pitch": 800}
        if folio == "folio_03":
            header["pitch"] = 800 << 24
        (folder / f"{folio}.json").write_text(json.dumps(header))


def catalogue_entry(folio):
    if folio == "folio_09":
        raise ValueError("shelf mark of folio_09 is not legible")
    return {"folio": folio, "shelf": f"C {folio[-2:]}"}


def unfold_lines(folder, folio):
    """The scanner pads its lines; a view with the pitch of the header leaves the padding out."""
    header = json.loads((pathlib.Path(folder) / f"{folio}.json").read_text())
    raw = np.fromfile(pathlib.Path(folder) / f"{folio}.raw", dtype="uint8")
    time.sleep(0.8)
    lines = np.lib.stride_tricks.as_strided(
        raw, shape=(header["lines"], header["width"]), strides=(header["pitch"], 1)
    )
    return np.ascontiguousarray(lines)


def ink_share(lines):
    return float((lines < 90).mean())


def check_catalogue():
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            entries = client.map(catalogue_entry, FOLIOS)
            bad = [
                entry.exception() for entry in entries if entry.exception() is not None
            ]
            for error in bad:
                print("catalogue:", error, "- entered by hand later", flush=True)
            return len(entries) - len(bad)


@contextlib.contextmanager
def scan_farm(folder):
    file = folder / "scheduler.json"
    started = [
        subprocess.Popen(
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
                str(file),
            ],
            stderr=open(folder / "scheduler.log", "w"),
        )
    ]
    for name in ("lamp-a", "lamp-b"):
        started.append(
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "dask",
                    "worker",
                    "--scheduler-file",
                    str(file),
                    "--nthreads",
                    "1",
                    "--no-dashboard",
                    "--name",
                    name,
                    "--memory-limit",
                    "400MB",
                ],
                stderr=open(folder / f"{name}.log", "w"),
            )
        )
    try:
        yield str(file)
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            try:
                process.wait(8)
            except subprocess.TimeoutExpired:
                process.kill()


def main():
    folder = pathlib.Path("scans")
    write_scans(folder)
    print(check_catalogue(), "folios are in the catalogue", flush=True)
    failed = False
    with scan_farm(folder) as file, Client(scheduler_file=file, timeout=20) as client:
        client.wait_for_workers(2, timeout=20)
        shares = {}
        for folio in FOLIOS:
            lines = client.submit(
                unfold_lines, str(folder), folio, key=f"unfold_lines-{folio}"
            )
            shares[folio] = client.submit(ink_share, lines, key=f"ink_share-{folio}")
        for folio, share in shares.items():
            try:
                print(f"{folio}: {share.result(timeout=40):.3f}", flush=True)
            except KilledWorker as error:
                print(f"{folio}: no result, {str(error)[:70]}", flush=True)
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
