"""Hospice rosters: propose next month's shifts for the night nurses.

Names of patients and staff are involved, so all traffic of the cluster is
encrypted. Certificates are handed out by the hospital's own authority.
"""

import itertools
import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from distributed import Client
from distributed.security import Security

log = logging.getLogger("rosters")
logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s"
)

NURSES = ["Amina", "Bo", "Chiara", "Dmitri", "Eun-ji", "Farid"]


def issue(folder, label):
    """What the hospital's authority puts on the share: authority, certificate, key."""
    made = Security.temporary()
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, content in (
        ("ca", made.tls_ca_file),
        ("cert", made.tls_scheduler_cert),
        ("key", made.tls_scheduler_key),
    ):
        path = folder / f"{label}-{name}.pem"
        path.write_text(content)
        os.chmod(path, 0o600)
        paths[name] = str(path)
    return paths


def flags(paths):
    return [
        "--tls-ca-file",
        paths["ca"],
        "--tls-cert",
        paths["cert"],
        "--tls-key",
        paths["key"],
    ]


def client_security(paths):
    return Security(
        tls_ca_file=paths["ca"],
        tls_client_cert=paths["cert"],
        tls_client_key=paths["key"],
        require_encryption=True,
    )


class Ward:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.address_file = self.folder / "ward.json"
        self.processes = []

    def dask(self, *args):
        process = subprocess.Popen([sys.executable, "-m", "dask", *map(str, args)])
        self.processes.append(process)
        return process

    def up(self, node_certs, head_certs):
        self.dask(
            "scheduler",
            "--host",
            "tls://127.0.0.1",
            "--port",
            0,
            "--protocol",
            "tls",
            "--no-dashboard",
            "--scheduler-file",
            self.address_file,
            *flags(head_certs),
        )
        for bed in range(2):
            self.dask(
                "worker",
                "--scheduler-file",
                self.address_file,
                "--protocol",
                "tls",
                "--nthreads",
                1,
                "--memory-limit",
                "300MB",
                "--no-dashboard",
                "--name",
                f"bed-{bed}",
                "--no-nanny",
                *flags(node_certs),
            )

    def down(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(6)
            except subprocess.TimeoutExpired:
                process.kill()


def cost(pairing, week):
    return sum((len(name) * (week + 3) * 7) % 11 for name in pairing), pairing, week


def best_of(candidates):
    return min(candidates)


def main():
    with tempfile.TemporaryDirectory(prefix="ward-") as folder:
        archive = issue(Path(folder) / "certs" / "2025", "hospice")
        current = issue(Path(folder) / "certs" / "2026", "hospice")
        ward = Ward(folder)
        try:
            # images of the nodes are rebuilt once a quarter and carry their certificates along
            ward.up(node_certs=archive, head_certs=current)
            with Client(
                scheduler_file=str(ward.address_file),
                security=client_security(current),
                timeout="20s",
            ) as client:
                log.info("head node answers at %s", client.scheduler.address)
                client.wait_for_workers(2, timeout=12)
                for week in range(4):
                    costs = client.map(
                        cost, list(itertools.combinations(NURSES, 2)), week=week
                    )
                    log.info(
                        "week %d: %s",
                        week,
                        client.submit(best_of, costs).result(timeout=20),
                    )
        finally:
            ward.down()


if __name__ == "__main__":
    main()
