"""Dredging survey: volume between the nightly multibeam sounding and the design depth of each harbour basin.

The harbour authority's network asks for encrypted traffic, so that scheduler, workers and this job each carry a
certificate.  The certificates are issued by the small authority below (the real one lives in the vault); survey
machines keep theirs in ``hosts/<name>/``.
"""

import argparse
import datetime as dt
import json
import logging
import pathlib
import socket
import subprocess
import sys
import time

import numpy as np
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from distributed import Client, as_completed
from distributed.security import Security

log = logging.getLogger("dredge")
NOW = dt.datetime.now(dt.timezone.utc)


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def make_authority(title):
    key = ec.generate_private_key(ec.SECP256R1())
    cert = (
        x509.CertificateBuilder()
        .subject_name(_name(title))
        .issuer_name(_name(title))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - dt.timedelta(days=1))
        .not_valid_after(NOW + dt.timedelta(days=400))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return key, cert


def issue(authority, host, folder):
    """Write ca.pem, cert.pem and key.pem for one host."""
    ca_key, ca_cert = authority
    key = ec.generate_private_key(ec.SECP256R1())
    cert = (
        x509.CertificateBuilder()
        .subject_name(_name(host))
        .issuer_name(ca_cert.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - dt.timedelta(days=1))
        .not_valid_after(NOW + dt.timedelta(days=90))
        .sign(ca_key, hashes.SHA256())
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ca.pem").write_bytes(ca_cert.public_bytes(serialization.Encoding.PEM))
    (folder / "cert.pem").write_bytes(cert.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def tls_options(folder):
    return [
        "--tls-ca-file",
        f"{folder}/ca.pem",
        "--tls-cert",
        f"{folder}/cert.pem",
        "--tls-key",
        f"{folder}/key.pem",
    ]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def basin_volume(basin, design, seed):
    depth = np.random.default_rng(seed).normal(design - 0.4, 0.3, size=(400, 400))
    return basin, float(np.clip(design - depth, 0, None).sum() * 0.25)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--wait", type=float, default=14)
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    hosts = pathlib.Path("hosts")
    authorities = {
        2025: make_authority("Harbour Authority CA 2025"),
        2026: make_authority("Harbour Authority CA 2026"),
    }
    inventory = {"control": 2026, "analyst": 2026, "survey1": 2025, "survey2": 2025}
    for host, year in inventory.items():
        issue(authorities[year], host, hosts / host)

    port = free_port()
    address = f"tls://127.0.0.1:{port}"
    procs = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
                "--protocol",
                "tls",
                "--no-dashboard",
                *tls_options(hosts / "control"),
            ]
        )
    ]
    analyst = hosts / "analyst"
    security = Security(
        tls_ca_file=f"{analyst}/ca.pem",
        tls_client_cert=f"{analyst}/cert.pem",
        tls_client_key=f"{analyst}/key.pem",
        require_encryption=True,
    )
    try:
        for name in ("survey1", "survey2"):
            procs.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "dask",
                        "worker",
                        address,
                        "--name",
                        name,
                        "--no-nanny",
                        "--nthreads",
                        "1",
                        "--no-dashboard",
                        "--death-timeout",
                        "30",
                        *tls_options(hosts / name),
                    ]
                )
            )
        with Client(address, security=security, timeout=20) as client:
            log.info("connected to %s", address)
            client.wait_for_workers(2, timeout=args.wait)
            futures = [
                client.submit(basin_volume, f"basin-{i}", 9.5 + i % 4, i)
                for i in range(24)
            ]
            volumes = dict(f.result() for f in as_completed(futures))
        pathlib.Path("volumes.json").write_text(json.dumps(volumes))
    finally:
        for p in reversed(procs):
            p.terminate()
        deadline = time.time() + 6
        for p in procs:
            try:
                p.wait(max(0.1, deadline - time.time()))
            except subprocess.TimeoutExpired:
                p.kill()
        log.info("survey machines released: %s", [p.returncode for p in procs])


if __name__ == "__main__":
    main()
