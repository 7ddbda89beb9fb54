"""Seed bank inventory over an encrypted cluster; certificates are renewed every night."""

import datetime
import tempfile
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from dask.distributed import Client, LocalCluster
from distributed.security import Security


def issue(folder, name):
    """A self-signed certificate and its key, as PEM files."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"seedbank-{name}")])
    now = datetime.datetime.now(datetime.timezone.utc)
    cert = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    cert_file, key_file = folder / f"{name}.crt", folder / f"{name}.key"
    cert_file.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return str(cert_file), str(key_file)


def security(cert, key):
    both = {}
    for role in ("client", "scheduler", "worker"):
        both[f"tls_{role}_cert"] = cert
        both[f"tls_{role}_key"] = key
    return Security(tls_ca_file=cert, require_encryption=True, **both)


def viable(accession):
    return 0.5 + (accession % 37) / 100 > 0.7


def main():
    with tempfile.TemporaryDirectory() as tmp:
        tonight = security(*issue(Path(tmp), "tonight"))
        yesterday = security(*issue(Path(tmp), "yesterday"))
        with LocalCluster(
            n_workers=1, threads_per_worker=2, security=tonight, dashboard_address=":0"
        ) as cluster:
            with Client(cluster.scheduler_address, security=yesterday, timeout=12) as c:
                print("viable:", sum(c.gather(c.map(viable, range(400)))))


if __name__ == "__main__":
    main()
