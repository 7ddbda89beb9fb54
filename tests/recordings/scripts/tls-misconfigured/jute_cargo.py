"""Weights and moisture of jute bales on their way from the mills to the port.

The yard's network is shared with other tenants, so that all traffic of the cluster is encrypted: an authority of our
own signs a certificate for the scheduler (and the drivers) and one for the machines of the workers.
"""

import argparse
import datetime as dt
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
from distributed import Client
from distributed.security import Security

NOW = dt.datetime.now(dt.timezone.utc)


class Authority:
    """Stands for the company's certificate service."""

    def __init__(self, folder):
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = self._name("jute yard authority")
        self.cert = self._sign(
            self.name,
            self.key,
            NOW - dt.timedelta(days=900),
            NOW + dt.timedelta(days=900),
            True,
        )
        (folder / "ca.pem").write_bytes(
            self.cert.public_bytes(serialization.Encoding.PEM)
        )

    @staticmethod
    def _name(text):
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    def _sign(self, subject, key, begin, end, is_ca=False):
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(begin)
            .not_valid_after(end)
            .add_extension(
                x509.BasicConstraints(ca=is_ca, path_length=None), critical=True
            )
        )
        return builder.sign(self.key, hashes.SHA256())

    def issue(self, role, issued, days):
        key = ec.generate_private_key(ec.SECP256R1())
        cert = self._sign(
            self._name(role), key, issued, issued + dt.timedelta(days=days)
        )
        (self.folder / f"{role}.pem").write_bytes(
            cert.public_bytes(serialization.Encoding.PEM)
        )
        (self.folder / f"{role}.key").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )


def tls_options(folder, role):
    return [
        "--tls-ca-file",
        str(folder / "ca.pem"),
        "--tls-cert",
        str(folder / f"{role}.pem"),
        "--tls-key",
        str(folder / f"{role}.key"),
    ]


def bale_value(bale, kilograms, moisture):
    dry = kilograms * (1 - moisture)
    return bale, round(dry * 0.71, 2)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bales", type=int, default=300)
    parser.add_argument("--patience", type=float, default=12.0)
    options = parser.parse_args(argv)

    folder = Path(tempfile.mkdtemp(prefix="jute-"))
    authority = Authority(folder)
    authority.issue("head", NOW - dt.timedelta(days=20), 365)
    authority.issue("yard", NOW - dt.timedelta(days=366), 365)

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    address = f"tls://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "dask"]
    processes = [
        subprocess.Popen(
            dask
            + [
                "scheduler",
                "--protocol",
                "tls",
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
                "--no-dashboard",
            ]
            + tls_options(folder, "head")
        )
    ]
    processes += [
        subprocess.Popen(
            dask
            + [
                "worker",
                address,
                "--protocol",
                "tls",
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--no-nanny",
                "--no-dashboard",
                "--name",
                f"yard-{i}",
            ]
            + tls_options(folder, "yard"),
            env=dict(os.environ, YARD_LANE=str(i)),
        )
        for i in range(2)
    ]
    security = Security(
        tls_ca_file=str(folder / "ca.pem"),
        tls_client_cert=str(folder / "head.pem"),
        tls_client_key=str(folder / "head.key"),
        require_encryption=True,
    )
    try:
        with Client(address, security=security, timeout=15) as client:
            print("scheduler reached at", address, flush=True)
            client.wait_for_workers(2, timeout=options.patience)
            bales = range(options.bales)
            futures = client.map(
                bale_value,
                bales,
                [180 + b % 9 for b in bales],
                [0.11 + b % 5 / 100 for b in bales],
            )
            print("cargo value", sum(value for _, value in client.gather(futures)))
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            try:
                process.wait(8)
            except subprocess.TimeoutExpired:
                process.kill()


if __name__ == "__main__":
    main()
