"""Dates of court hearings: find slots for next quarter's cases.

The case data is confidential, so all connections are encrypted.  The certificates lie in two folders: one that the
scheduler's host reads, and one that is rolled out to the workers' hosts by configuration management.
"""

import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dask
from distributed import Client
from distributed.security import Security


def issue(folder: Path):
    """An authority with one certificate for all roles."""
    folder.mkdir(parents=True)
    s = Security.temporary()
    (folder / "ca.pem").write_text(s.tls_ca_file)
    (folder / "cert.pem").write_text(s.tls_scheduler_cert)
    (folder / "key.pem").write_text(s.tls_scheduler_key)
    os.chmod(folder / "key.pem", 0o600)


def options(folder: Path):
    return [
        "--tls-ca-file",
        str(folder / "ca.pem"),
        "--tls-cert",
        str(folder / "cert.pem"),
        "--tls-key",
        str(folder / "key.pem"),
    ]


def security(folder: Path):
    return Security(
        tls_ca_file=str(folder / "ca.pem"),
        tls_client_cert=str(folder / "cert.pem"),
        tls_client_key=str(folder / "key.pem"),
        require_encryption=True,
    )


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def spawn(*args):
    return subprocess.Popen([sys.executable, "-m", "dask", *args])


def find_slot(case, judges):
    rng = random.Random(case)
    return case, rng.choice(judges), rng.randint(1, 90)


def main():
    root = Path(tempfile.mkdtemp(prefix="court-"))
    vault, rollout = root / "vault", root / "rollout"
    issue(rollout)
    issue(vault)

    port = free_port()
    address = f"tls://127.0.0.1:{port}"
    processes = [
        spawn(
            "scheduler",
            "--protocol",
            "tls",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--no-dashboard",
            *options(vault),
        )
    ]
    time.sleep(2)
    try:
        for name in ("registry-1", "registry-2"):
            processes.append(
                spawn(
                    "worker",
                    address,
                    "--protocol",
                    "tls",
                    "--name",
                    name,
                    "--nthreads",
                    "1",
                    "--no-nanny",
                    "--memory-limit",
                    "300MB",
                    "--no-dashboard",
                    "--death-timeout",
                    "25",
                    *options(rollout),
                )
            )
        with dask.config.set({"distributed.comm.timeouts.connect": "10s"}):
            client = Client(address, security=security(vault), timeout=12)
        judges = client.scatter(
            ["Adler", "Brandt", "Cordes"], broadcast=False, timeout=14
        )
        cases = client.map(find_slot, range(60), judges=judges)
        for case, judge, day in client.gather(cases)[:5]:
            print(f"case {case}: {judge}, day {day}")
        client.close()
    finally:
        for p in processes:
            p.terminate()
        for p in processes:
            try:
                p.wait(8)
            except subprocess.TimeoutExpired:
                p.kill()
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
