"""Uploads the day's ledger entries to the auditors' archive, branch by branch.

The archive wants a signature with a shared secret.  Settings are kept in one file, which the job loads into its
environment first thing, so that all of the code finds them there.
"""

import hashlib
import hmac
import json
import logging
import os
import pathlib
import random
import subprocess
import sys

from distributed import Client, as_completed

logger = logging.getLogger("ledger_uploads")

SETTINGS = """
# settings of the ledger upload
LEDGER_BRANCHES=14
LEDGER_ARCHIVE=archive
LEDGER_ARCHIVE_SECRET=not-the-real-one
"""


class UploadError(Exception):
    """An upload did not succeed; the branch is tried again tomorrow."""


class Archive:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def sign(self, payload):
        secret = os.environ["LEDGER_ARCHIVE_SECRET"]
        return hmac.new(secret.encode(), payload, hashlib.sha256).hexdigest()

    def put(self, name, payload):
        signature = self.sign(payload)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(payload)
        (self.folder / f"{name}.sig").write_text(signature)
        return len(payload)


def entries(branch):
    rng = random.Random(branch)
    rows = [
        {"account": rng.randrange(1000, 9999), "cents": rng.randrange(-90_000, 90_000)}
        for _ in range(500)
    ]
    rows.append({"account": 9999, "cents": -sum(row["cents"] for row in rows)})
    return rows


def upload(branch, rows, folder):
    if sum(row["cents"] for row in rows):
        raise UploadError(f"branch {branch} is not balanced")
    try:
        return branch, Archive(folder).put(
            f"branch_{branch:02d}.json", json.dumps(rows).encode()
        )
    except Exception as error:
        raise UploadError(f"branch {branch}: archive refused the upload") from error


def load_settings(path):
    for line in path.read_text().splitlines():
        name, sign, value = line.partition("=")
        if sign and not name.startswith("#"):
            os.environ.setdefault(name.strip(), value.strip())


class Machines:
    """The compute machines: their agent starts processes with the account's environment, without what jobs add."""

    def __init__(self, count):
        self.file = os.path.abspath("machines.json")
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("LEDGER_")
        }
        self.count = count
        self.processes = []

    def run(self, *arguments):
        self.processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments], env=self.environment
            )
        )

    def __enter__(self):
        self.run(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            self.file,
        )
        for number in range(self.count):
            self.run(
                "worker",
                "--scheduler-file",
                self.file,
                "--name",
                f"machine-{number}",
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--no-dashboard",
                "--death-timeout",
                "30",
            )
        return self

    def __exit__(self, *details):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(8)
            except subprocess.TimeoutExpired:
                process.kill()


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    settings = pathlib.Path("ledger.env")
    settings.write_text(SETTINGS)
    load_settings(settings)
    folder = os.path.abspath(os.environ["LEDGER_ARCHIVE"])
    # the job's own signature is the proof that the settings are complete
    Archive(folder).put("opening.json", b"{}")

    done, refused = {}, []
    with (
        Machines(2) as machines,
        Client(scheduler_file=machines.file, timeout=20) as client,
    ):
        client.wait_for_workers(2, timeout=20)
        futures = {}
        for branch in range(int(os.environ["LEDGER_BRANCHES"])):
            rows = client.submit(entries, branch, key=f"entries-{branch}")
            futures[
                client.submit(
                    upload, branch, rows, folder, key=f"upload-{branch}", retries=1
                )
            ] = branch
        for future in as_completed(futures):
            try:
                branch, size = future.result()
                done[branch] = size
            except UploadError as error:
                logger.warning("%s", error)
                refused.append(futures[future])
    logger.info("%d branches uploaded, %d refused", len(done), len(refused))
    if refused:
        raise SystemExit(f"branches {sorted(refused)} are missing in the archive")


if __name__ == "__main__":
    main()
