"""Valuation of the jewellery in the pawnbroker's vault, with encrypted traffic between all processes.

Security wants TLS everywhere, so the job keeps a small private certificate authority in the folder "pki"; host
certificates are issued for a fixed number of days by the same helper that issues them on the servers.
"""

import dataclasses
import datetime
import pathlib
import random
import sys

import dask
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from dask import delayed
from distributed import Client, LocalCluster
from distributed.security import Security

PKI = pathlib.Path("pki")
NOW = datetime.datetime.now(datetime.timezone.utc)


@dataclasses.dataclass
class Identity:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def save(self, name):
        PKI.mkdir(exist_ok=True)
        (PKI / f"{name}.pem").write_bytes(
            self.certificate.public_bytes(serialization.Encoding.PEM)
        )
        (PKI / f"{name}.key").write_bytes(
            self.key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return self


def issue(common_name, issued, days, authority=None):
    """A certificate for the name; signed by the authority, or by itself when there is none."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    issuer = authority.certificate.subject if authority else name
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(issued)
        .not_valid_after(issued + datetime.timedelta(days=days))
        .add_extension(
            x509.BasicConstraints(ca=authority is None, path_length=None), critical=True
        )
    )
    return Identity(
        builder.sign(authority.key if authority else key, hashes.SHA256()), key
    )


def prepare():
    """The vault server's state: authority of last year, host certificate of the last renewal."""
    authority = issue(
        "vault private authority", NOW - datetime.timedelta(days=400), 3650
    ).save("authority")
    issue("vault-compute", NOW - datetime.timedelta(days=93), 90, authority).save(
        "host"
    )
    issue("vault-client", NOW - datetime.timedelta(days=20), 90, authority).save(
        "client"
    )


def security():
    return Security(
        require_encryption=True,
        tls_ca_file=str(PKI / "authority.pem"),
        tls_scheduler_cert=str(PKI / "host.pem"),
        tls_scheduler_key=str(PKI / "host.key"),
        tls_worker_cert=str(PKI / "host.pem"),
        tls_worker_key=str(PKI / "host.key"),
        tls_client_cert=str(PKI / "client.pem"),
        tls_client_key=str(PKI / "client.key"),
    )


@delayed
def appraise(item):
    rng = random.Random(item)
    carat, grams, gold = (
        rng.uniform(0, 3),
        rng.uniform(1, 30),
        rng.choice([333, 585, 750]),
    )
    return {
        "item": item,
        "value": round(grams * gold / 1000 * 71.5 + carat**2 * 900, 2),
    }


@delayed
def summarize(rows):
    return len(rows), sum(row["value"] for row in rows)


def main():
    prepare()
    dask.config.set({"distributed.comm.timeouts.connect": "8s"})
    cluster = client = None
    try:
        cluster = LocalCluster(
            protocol="tls",
            security=security(),
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        )
        client = Client(cluster, timeout=10)
        client.wait_for_workers(2, timeout=10)
        count, value = summarize([appraise(item) for item in range(60)]).compute()
        print(f"{count} pieces, {value:.2f} EUR")
    finally:
        if client is not None:
            client.close()
        if cluster is not None:
            cluster.close(timeout=5)
    return 0


if __name__ == "__main__":
    sys.exit(main())
