"""Ferry tolls: the toll office's job asks the shared, encrypted cluster for the day's takings per crossing.

The cluster belongs to the platform group (here: started by the script's first half in a process of its own, as the
staging environment does it); the toll office has its own key material in a folder.
"""

import datetime
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from distributed import Client
from distributed.security import Security

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
log = logging.getLogger("tolls")

CROSSINGS = ["Upper Reach", "Mill Lane", "Old Chain", "Lower Reach"]


def issue(folder, authority):
    """Key material as the internal certificate service hands it out."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "30",
            "-subj",
            f"/O=River Authority/CN={authority}",
            "-addext",
            "subjectAltName=IP:127.0.0.1,DNS:localhost",
            "-keyout",
            str(folder / "node.key"),
            "-out",
            str(folder / "node.pem"),
        ],
        check=True,
        capture_output=True,
    )
    (folder / "ca.pem").write_bytes((folder / "node.pem").read_bytes())
    return folder


def options_for(folder):
    return [
        "--tls-ca-file",
        str(folder / "ca.pem"),
        "--tls-cert",
        str(folder / "node.pem"),
        "--tls-key",
        str(folder / "node.key"),
    ]


def security_for(folder):
    cert, key = str(folder / "node.pem"), str(folder / "node.key")
    return Security(
        tls_ca_file=str(folder / "ca.pem"),
        tls_client_cert=cert,
        tls_client_key=key,
        require_encryption=True,
    )


def start_platform(home, keys):
    ticket = home / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    scheduler = subprocess.Popen(
        dask
        + [
            "scheduler",
            "--protocol",
            "tls",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(ticket),
            *options_for(keys),
        ],
        cwd=home,
    )
    worker = subprocess.Popen(
        dask
        + [
            "worker",
            "--scheduler-file",
            str(ticket),
            "--nthreads",
            "2",
            "--no-nanny",
            "--no-dashboard",
            "--memory-limit",
            "400MB",
            *options_for(keys),
        ],
        cwd=home,
    )
    limit = time.monotonic() + 20
    while not ticket.exists():
        if time.monotonic() > limit:
            raise SystemExit("platform did not write its ticket")
        time.sleep(0.2)
    time.sleep(1.5)
    return ticket, [worker, scheduler]


def takings(crossing, day):
    base = sum(map(ord, crossing)) + day.toordinal() % 37
    return crossing, [base * hour % 113 for hour in range(5, 23)]


def report(client, day):
    futures = client.map(takings, CROSSINGS, day=day)
    for crossing, hours in client.gather(futures):
        print(f"{crossing:12} {sum(hours):6d}")


def main():
    day = datetime.date.fromisoformat(os.environ.get("TOLL_DAY", "2026-11-27"))
    with tempfile.TemporaryDirectory() as name:
        home = pathlib.Path(name)
        platform_keys = issue(home / "platform" / "2026q4", "platform-root-g2")
        office_keys = issue(home / "office" / "keys", "platform-root-g1")
        ticket, processes = start_platform(home, platform_keys)
        try:
            log.info("asking for the takings of %s", day)
            with Client(
                scheduler_file=str(ticket),
                security=security_for(office_keys),
                timeout=8,
            ) as client:
                report(client, day)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(10)
            log.info("platform stopped")


if __name__ == "__main__":
    main()
