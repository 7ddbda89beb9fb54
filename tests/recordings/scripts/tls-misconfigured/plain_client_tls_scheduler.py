"""Security was turned on for the scheduler, this script was forgotten."""

import json
import subprocess
import tempfile
import time
from pathlib import Path

from dask.distributed import Client

FOLDER = Path(tempfile.mkdtemp())
CERT, KEY, FILE = FOLDER / "cert.pem", FOLDER / "key.pem", FOLDER / "scheduler.json"


def main():
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        + ["-subj", "/CN=dask", "-keyout", KEY, "-out", CERT],
        check=True,
        capture_output=True,
    )
    scheduler = subprocess.Popen(
        ["dask", "scheduler", "--protocol", "tls", "--port", "0", "--no-dashboard"]
        + ["--tls-ca-file", CERT, "--tls-cert", CERT, "--tls-key", KEY]
        + ["--host", "127.0.0.1", "--scheduler-file", FILE]
    )
    try:
        while not FILE.exists():
            time.sleep(0.1)
        time.sleep(0.5)
        address = json.loads(FILE.read_text())["address"]
        client = Client(address.replace("tls://", "tcp://"), timeout="8s")
        print(client.submit(pow, 2, 10).result())
    finally:
        scheduler.terminate()
        scheduler.wait()


if __name__ == "__main__":
    main()
