"""Drumlin surveys: orientation and elongation of glacial hills per map sheet.

The survey office runs its Dask cluster with TLS between all processes. The
certificates come from the office's own authority, which issues a new root
every autumn; the host images carry the certificates for their workers.
"""

import contextlib
import dataclasses
import logging
import math
import pathlib
import random
import subprocess
import sys
import tempfile

from distributed import Client, LocalCluster
from distributed.security import Security

log = logging.getLogger("drumlins")


def openssl(*args):
    subprocess.run(["openssl", *args], check=True, capture_output=True)


@dataclasses.dataclass
class Authority:
    """A root certificate and what it issues."""

    folder: pathlib.Path
    name: str

    def __post_init__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.root = self.folder / "root.pem"
        self.key = self.folder / "root.key"
        openssl(
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "400",
            "-subj",
            f"/CN={self.name}",
            "-keyout",
            str(self.key),
            "-out",
            str(self.root),
        )

    def issue(self, host):
        key, request, cert = (
            self.folder / f"{host}{ext}" for ext in (".key", ".csr", ".pem")
        )
        openssl(
            "req",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            f"/CN={host}",
            "-keyout",
            str(key),
            "-out",
            str(request),
        )
        openssl(
            "x509",
            "-req",
            "-in",
            str(request),
            "-CA",
            str(self.root),
            "-CAkey",
            str(self.key),
            "-CAcreateserial",
            "-days",
            "200",
            "-out",
            str(cert),
        )
        return str(cert), str(key)


def office_security(authority):
    cert, key = authority.issue("survey-office")
    return Security(
        require_encryption=True,
        tls_ca_file=str(authority.root),
        tls_scheduler_cert=cert,
        tls_scheduler_key=key,
        tls_client_cert=cert,
        tls_client_key=key,
        tls_worker_cert=cert,
        tls_worker_key=key,
    )


@contextlib.contextmanager
def field_workers(address, image, count):
    """Workers on the field hosts, with the certificates of the host image."""
    cert, key = image.issue("field-host")
    procs = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "distributed.cli.dask_worker",
                address,
                "--tls-ca-file",
                str(image.root),
                "--tls-cert",
                cert,
                "--tls-key",
                key,
                "--name",
                f"field-{n}",
                "--nthreads",
                "1",
                "--memory-limit",
                "400MB",
                "--no-dashboard",
            ]
        )
        for n in range(count)
    ]
    try:
        yield procs
    finally:
        for proc in procs:
            if proc.poll() is None:
                proc.terminate()
        for proc in procs:
            try:
                proc.wait(8)
            except subprocess.TimeoutExpired:
                proc.kill()


def survey_sheet(sheet):
    rng = random.Random(sheet)
    hills = [
        (rng.uniform(200, 900), rng.uniform(80, 300), rng.gauss(125, 14))
        for _ in range(2000)
    ]
    elongation = sum(length / width for length, width, _ in hills) / len(hills)
    x = sum(math.cos(math.radians(2 * a)) for *_, a in hills)
    y = sum(math.sin(math.radians(2 * a)) for *_, a in hills)
    return (
        sheet,
        round(elongation, 2),
        round(math.degrees(math.atan2(y, x)) / 2 % 180, 1),
    )


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        image_authority = Authority(folder / "image", "Survey Office Root 2025")
        authority = Authority(folder / "office", "Survey Office Root 2026")
        security = office_security(authority)

        cluster = stack.enter_context(
            LocalCluster(
                n_workers=0,
                protocol="tls://",
                host="127.0.0.1",
                security=security,
                dashboard_address=None,
            )
        )
        client = stack.enter_context(Client(cluster, security=security))
        log.info("scheduler at %s", cluster.scheduler_address)
        stack.enter_context(
            field_workers(cluster.scheduler_address, image_authority, 2)
        )

        client.wait_for_workers(2, timeout=18)
        for sheet, elongation, direction in client.gather(
            client.map(survey_sheet, range(60))
        ):
            log.info(
                "sheet %s: elongation %s, direction %s", sheet, elongation, direction
            )


if __name__ == "__main__":
    main()
