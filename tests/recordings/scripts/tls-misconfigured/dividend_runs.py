"""Dividend entitlements of all accounts at the record date, on an encrypted cluster.

Certificates come from the desk's own authority; scheduler, driver and workers each have one.
"""

import datetime as dt
import logging
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from dask.distributed import Client
from distributed.security import Security

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("dividends")
NOW = dt.datetime.now(dt.timezone.utc).replace(tzinfo=None)


class Authority:
    def __init__(self, folder):
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name(
            [x509.NameAttribute(NameOID.COMMON_NAME, "Dividend desk CA")]
        )
        cert = self._build(
            self.name,
            self.key.public_key(),
            NOW - dt.timedelta(days=700),
            NOW + dt.timedelta(days=700),
            ca=True,
        )
        self.file = folder / "ca.pem"
        self.file.write_bytes(cert.public_bytes(serialization.Encoding.PEM))

    def _build(self, subject, public, start, end, ca=False):
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self.name)
        builder = builder.public_key(public).serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(start).not_valid_after(end)
        builder = builder.add_extension(
            x509.BasicConstraints(ca=ca, path_length=None), critical=True
        )
        return builder.sign(self.key, hashes.SHA256())

    def issue(self, role, issued, days):
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name(
            [x509.NameAttribute(NameOID.COMMON_NAME, f"{role}.dividends")]
        )
        cert = self._build(
            subject, key.public_key(), issued, issued + dt.timedelta(days=days)
        )
        cert_file, key_file = self.folder / f"{role}.crt", self.folder / f"{role}.key"
        cert_file.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return str(cert_file), str(key_file)


def command(tool, *args, ca, pair):
    return [
        sys.executable,
        "-m",
        "dask",
        tool,
        *args,
        "--tls-ca-file",
        str(ca),
        "--tls-cert",
        pair[0],
        "--tls-key",
        pair[1],
    ]


def entitlement(account, rate):
    shares = (account * 7919) % 1500
    return account, round(shares * rate, 2)


def run(folder):
    authority = Authority(folder)
    scheduler_pair = authority.issue("scheduler", NOW - dt.timedelta(days=30), 365)
    driver_pair = authority.issue("driver", NOW - dt.timedelta(days=30), 365)
    worker_pair = authority.issue("worker", NOW - dt.timedelta(days=367), 365)

    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    address = f"tls://127.0.0.1:{port}"
    children = [
        subprocess.Popen(
            command(
                "scheduler",
                "--protocol",
                "tls",
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
                "--no-dashboard",
                ca=authority.file,
                pair=scheduler_pair,
            )
        )
    ]
    for number in range(2):
        children.append(
            subprocess.Popen(
                command(
                    "worker",
                    address,
                    "--no-nanny",
                    "--nthreads",
                    "1",
                    "--memory-limit",
                    "300MB",
                    "--no-dashboard",
                    "--name",
                    f"div-{number}",
                    "--local-directory",
                    str(folder / f"w{number}"),
                    "--death-timeout",
                    "30",
                    ca=authority.file,
                    pair=worker_pair,
                )
            )
        )
    security = Security(
        tls_ca_file=str(authority.file),
        tls_client_cert=driver_pair[0],
        tls_client_key=driver_pair[1],
        require_encryption=True,
    )
    try:
        with Client(address, security=security, timeout=20) as client:
            log.info("connected to %s, encrypted", address)
            client.wait_for_workers(2, timeout=12)
            total = sum(
                amount
                for _, amount in client.gather(
                    client.map(entitlement, range(2000), rate=0.37, batch_size=200)
                )
            )
            log.info("to be paid: %.2f", total)
    finally:
        for child in children:
            child.terminate()
        for child in children:
            child.wait(15)


if __name__ == "__main__":
    os.environ.setdefault("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "10s")
    with tempfile.TemporaryDirectory() as name:
        run(Path(name))
