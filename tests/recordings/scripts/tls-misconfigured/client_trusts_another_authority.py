"""The scheduler's certificate was renewed; the driver has the old authority."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, Security

FOLDER = Path(tempfile.mkdtemp())


def certificate(name):
    cert, key = FOLDER / f"{name}.pem", FOLDER / f"{name}.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9"]
    command += ["-subj", f"/CN={name}", "-keyout", key, "-out", cert]
    subprocess.run(command, check=True, capture_output=True)
    return str(cert), str(key)


if __name__ == "__main__":
    old, new = certificate("dask-2025"), certificate("dask-2026")
    file = FOLDER / "s.json"
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "dask", "scheduler", "--protocol", "tls", "--port", "0"]
        + ["--tls-ca-file", new[0], "--tls-cert", new[0], "--tls-key", new[1]]
        + ["--no-dashboard", "--host", "127.0.0.1", "--scheduler-file", file]
    )
    try:
        while not file.exists():
            time.sleep(0.1)
        time.sleep(0.5)
        security = Security(
            tls_ca_file=old[0],
            tls_client_cert=old[0],
            tls_client_key=old[1],
            require_encryption=True,
        )
        address = json.loads(file.read_text())["address"]
        client = Client(address, security=security, timeout="8s")
        print(client.scheduler_info()["workers"])
    finally:
        scheduler.kill()
        scheduler.wait()
