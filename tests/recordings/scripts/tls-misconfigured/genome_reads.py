import datetime
import os
import subprocess
import sys
import tempfile

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from dask.distributed import Client
from distributed.security import Security


def issue(folder, label):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "genome-lab")])
    now = datetime.datetime.now(datetime.timezone.utc)
    cert = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=90))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, keyfile = (
        os.path.join(folder, f"{label}.pem"),
        os.path.join(folder, f"{label}-key.pem"),
    )
    with open(pem, "wb") as fh:
        fh.write(cert.public_bytes(serialization.Encoding.PEM))
    with open(keyfile, "wb") as fh:
        fh.write(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption(),
            )
        )
    return pem, keyfile


def count_bases(read):
    return read.count("G") + read.count("C")


def main():
    folder = tempfile.mkdtemp(prefix="genome-")
    pem, key = issue(folder, "head")
    node_pem, node_key = issue(folder, "node")
    sfile = os.path.join(folder, "sched.json")
    scheduler = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "scheduler",
            "--protocol",
            "tls",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            sfile,
            "--tls-ca-file",
            pem,
            "--tls-cert",
            pem,
            "--tls-key",
            key,
        ]
    )
    worker = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "worker",
            "--scheduler-file",
            sfile,
            "--no-dashboard",
            "--protocol",
            "tls",
            "--death-timeout",
            "6",
            "--tls-ca-file",
            node_pem,
            "--tls-cert",
            node_pem,
            "--tls-key",
            node_key,
        ]
    )
    try:
        security = Security(
            tls_ca_file=pem,
            tls_client_cert=pem,
            tls_client_key=key,
            require_encryption=True,
        )
        with Client(scheduler_file=sfile, security=security, timeout=15) as client:
            client.wait_for_workers(1, timeout=9)
            reads = ["ACGT" * k for k in range(1, 50)]
            print(sum(client.gather(client.map(count_bases, reads))))
    finally:
        for p in (worker, scheduler):
            p.terminate()
            p.wait(15)


if __name__ == "__main__":
    main()
