"""Checks the seals of notarial deeds on the secured cluster of the chamber."""

import datetime as dt
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from dask.distributed import Client
from distributed.security import Security

ISSUED = dt.datetime(2025, 2, 1, tzinfo=dt.timezone.utc)


def issue(folder, name, days, issuer=None):
    """One key and certificate from the chamber's authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    signer, signer_name = issuer or (key, subject)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signer_name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(ISSUED)
        .not_valid_after(ISSUED + dt.timedelta(days=days))
        .add_extension(
            x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True
        )
    )
    certificate = builder.sign(signer, hashes.SHA256())
    (folder / f"{name}.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    (folder / f"{name}.crt").write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
    )
    return key, subject


def start_scheduler(folder, port_file):
    log = open(folder / "scheduler.log", "ab")
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "scheduler",
            "--protocol",
            "tls",
            "--port",
            "0",
            "--dashboard-address",
            ":0",
            "--tls-ca-file",
            "authority.crt",
            "--tls-cert",
            "scheduler.crt",
            "--tls-key",
            "scheduler.key",
            "--scheduler-file",
            str(port_file),
        ],
        cwd=folder,
        env=dict(os.environ),
        stdout=log,
        stderr=log,
    )


def connect(port_file, security, attempts=3):
    """The scheduler's machine sometimes needs a moment after its nightly boot."""
    for attempt in range(1, attempts + 1):
        try:
            return Client(scheduler_file=str(port_file), security=security, timeout=20)
        except OSError as error:
            if attempt == attempts:
                raise
            print("not yet connected:", type(error).__name__)
            time.sleep(1.5)


def check_seal(deed):
    time.sleep(0.1)
    return deed, deed % 17 != 0


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        authority = issue(folder, "authority", 3650)
        issue(folder, "scheduler", 365, authority)
        issue(folder, "notary", 1825, authority)
        port_file = folder / "scheduler.json"
        scheduler = start_scheduler(folder, port_file)
        try:
            while not port_file.exists():
                time.sleep(0.2)
            security = Security(
                tls_ca_file=str(folder / "authority.crt"),
                require_encryption=True,
                tls_client_cert=str(folder / "notary.crt"),
                tls_client_key=str(folder / "notary.key"),
            )
            with connect(port_file, security) as client:
                seals = client.gather(client.map(check_seal, range(100)))
                print("broken:", [deed for deed, fine in seals if not fine])
        finally:
            scheduler.terminate()
            scheduler.wait(timeout=60)


if __name__ == "__main__":
    main()
