"""A client's certificate and key do not belong together."""

import datetime
import pathlib
import subprocess
import tempfile
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from dask.distributed import Client
from distributed.security import Security


def make(folder, name):
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=9))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / f"{name}.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / f"{name}.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def main():
    folder = pathlib.Path(tempfile.mkdtemp())
    make(folder, "team")
    make(folder, "old")
    file = folder / "scheduler.json"
    tls = [
        "--tls-ca-file",
        "team.crt",
        "--tls-cert",
        "team.crt",
        "--tls-key",
        "team.key",
    ]
    scheduler = subprocess.Popen(
        [
            "dask",
            "scheduler",
            "--protocol",
            "tls",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            file,
            *tls,
        ],
        cwd=folder,
    )
    try:
        while not file.exists():
            time.sleep(0.1)
        security = Security(
            tls_ca_file=str(folder / "team.crt"),
            tls_client_cert=str(folder / "team.crt"),
            tls_client_key=str(folder / "old.key"),
            require_encryption=True,
        )
        with Client(scheduler_file=str(file), security=security, timeout=15) as client:
            print(client.submit(sum, [1, 2]).result())
    finally:
        scheduler.terminate()
        scheduler.wait()


if __name__ == "__main__":
    main()
