"""A third set held out: clusters that do not start, and drivers that do not reach them.

Written by somebody who had read no rule.  What came out the first time is written down in
`heldout.json`, and stays.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import os
import signal
import socket
import time
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
from distributed import (
    Client,
    LocalCluster,
    SpecCluster,
    wait,
)
from distributed.deploy.spec import ProcessInterface
from distributed.scheduler import Scheduler
from distributed.security import Security
from staging import Stage
from staging import failure as any_failure
from starting import processes

failure = partial(any_failure, held_out="third: services")


class ClusterUnavailableError(Exception):
    """What the job's own code makes of it."""


@failure("cannot-connect", names=["refused|listens|nobody", "tcp://127.0.0.1:[0-9]+"])
def the_scheduler_file_is_from_yesterday(stage: Stage) -> None:
    with socket.socket() as taken:  # a port that nobody listens at
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    file = stage.folder / "scheduler.json"
    facts = {
        "type": "Scheduler",
        "id": "Scheduler-6f2c",
        "address": f"tcp://127.0.0.1:{port}",
        "services": {"dashboard": 8787},
        "started": time.time() - 86_400,
        "workers": {},
    }
    file.write_text(json.dumps(facts))

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "4s"}),
        stage.recording(),
        Client(scheduler_file=str(file)) as client,
    ):
        print(client.submit(sum, [1, 2]).result())


@failure(
    "cannot-connect",
    names=["dask-scheduler.prod.svc.invalid"],
    how="command",
    noise="three attempts, and an exception of one's own at the end",
)
def a_service_name_that_nobody_resolves(stage: Stage) -> None:
    address = "tcp://dask-scheduler.prod.svc.invalid:8786"

    def connected(attempts: int) -> Client:
        for attempt in range(attempts):
            try:
                return Client(timeout=2)
            except OSError as error:
                print(f"attempt {attempt + 1} failed: {error}")
                last = error
        message = f"gave up on the cluster after {attempts} attempts"
        raise ClusterUnavailableError(message) from last

    with dask.config.set({"scheduler-address": address}), stage.recording():
        client = connected(3)
        print(db.from_sequence(range(10)).sum().compute(scheduler=client))


@failure(
    "cannot-connect",
    names=["127.0.0.1:[0-9]+"],
    how="command",
    bound=20,
    noise="the host ends it while it waits inside of Client(…)",
)
def packets_to_the_scheduler_are_dropped(stage: Stage) -> None:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(0)
    port = listening.getsockname()[1]
    filling = [socket.socket() for _ in range(4)]
    for each in filling:  # from now on, nobody gets through, and nobody is refused
        each.settimeout(0)
        each.connect_ex(("127.0.0.1", port))
    time.sleep(0.5)

    with stage.recording(), Client(f"tcp://127.0.0.1:{port}", timeout="300s") as client:
        print(client.submit(sum, [1, 2]).result())


@failure(
    "cannot-connect",
    "scheduler-lost",
    names=["127.0.0.1:[0-9]+"],
    why="the scheduler is there, and does not answer: frozen, or unreachable",
)
def the_scheduler_is_frozen_when_the_driver_comes(stage: Stage) -> None:
    async def main(address: str) -> int:
        async with Client(address, asynchronous=True, timeout=8) as client:
            total = client.submit(sum, range(100))
            return int(await total)

    with processes(1) as cluster:
        assert cluster.scheduler is not None
        os.kill(cluster.scheduler.pid, signal.SIGSTOP)
        try:
            with stage.recording():
                print(asyncio.run(main(cluster.address)))
        finally:
            os.kill(cluster.scheduler.pid, signal.SIGCONT)


def certificates(folder: Path, name: str, *, days: int) -> dict[str, str]:
    """Make a certificate that signs itself, good until `days` from now."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dask-internal")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=400))
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    paths = {"cert": folder / f"{name}.pem", "key": folder / f"{name}-key.pem"}
    paths["cert"].write_bytes(made.public_bytes(pem))
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    paths["key"].write_bytes(key.private_bytes(pem, *plain))
    return {which: str(path) for which, path in paths.items()}


def tls_options(certificate: dict[str, str], ca: str) -> list[str]:
    """Return what `dask scheduler` and `dask worker` are reported."""
    both = ["--tls-cert", certificate["cert"], "--tls-key", certificate["key"]]
    return [*both, "--tls-ca-file", ca]


@failure("tls-misconfigured", names=["expired"])
def the_certificate_of_the_cluster_has_run_out(stage: Stage) -> None:
    old = certificates(stage.folder, "cluster", days=-2)
    options = [*tls_options(old, old["cert"]), "--protocol", "tls"]
    security = Security(
        tls_ca_file=old["cert"],
        tls_client_cert=old["cert"],
        tls_client_key=old["key"],
        require_encryption=True,
    )
    with (
        processes(0, scheduler=options) as cluster,
        stage.recording(),
        Client(cluster.address, security=security, timeout=6) as client,
    ):
        print(client.submit(sum, [1, 2]).result())


@failure(
    "tls-misconfigured",
    "workers-never-arrived",
    names=["TLS|handshake|certificate", "0 of 2|0/2|no worker|none"],
    why="they never arrive because of it",
)
def workers_trust_another_authority(stage: Stage) -> None:
    ours = certificates(stage.folder, "ours", days=90)
    theirs = certificates(stage.folder, "theirs", days=90)
    options = [*tls_options(ours, ours["cert"]), "--protocol", "tls"]
    security = Security(
        tls_ca_file=ours["cert"],
        tls_client_cert=ours["cert"],
        tls_client_key=ours["key"],
        require_encryption=True,
    )
    with processes(0, scheduler=options) as cluster:
        for _ in range(2):
            cluster.start_worker(
                "--nthreads", "1", *tls_options(theirs, theirs["cert"])
            )
        with (
            Client(cluster.address, security=security) as client,
            stage.recording(client),
        ):
            client.wait_for_workers(2, timeout=15)


PRELOAD = '''
"""Opens the warehouse before any task runs."""
import json, pathlib

class VaultError(RuntimeError):
    pass

def token():
    try:
        return json.loads(pathlib.Path("/nowhere/vault/token.json").read_text())
    except FileNotFoundError as error:
        raise VaultError("no token for vault.internal:8200 — is the agent up?") from error

TOKEN = token()
'''


@failure(
    "worker-start-failed",
    names=["vault", "preload|warehouse"],
    accepted="the right cause; what the preload raised was only printed, before there was a cluster",
)
def a_preloaded_module_finds_no_token(stage: Stage) -> None:
    path = stage.module("warehouse_login", PRELOAD)
    with (
        stage.recording(),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            preload=[str(path)],
        ) as cluster,
        Client(cluster) as client,
    ):
        print(client.submit(sum, [1, 2]).result())


class PendingJob(ProcessInterface):
    """A job of a batch system, handed in, that never leaves the queue."""

    def __init__(self, scheduler: str, name: Any = None, queue: str = "short") -> None:
        self.queue = queue
        super().__init__(scheduler=scheduler, name=name)  # type: ignore[no-untyped-call]

    async def start(self) -> None:
        await super().start()  # type: ignore[no-untyped-call]
        print(f"a job is pending in {self.queue} (Priority)")


@failure(
    "workers-never-arrived",
    "no-valid-worker",
    hang=True,
    names=["no worker|0 worker|without a worker|none|never"],
    why="no worker at all",
)
def jobs_stay_in_the_queue_of_the_batch_system(stage: Stage) -> None:
    scheduler = {"cls": Scheduler, "options": {"dashboard_address": None}}
    worker = {"cls": PendingJob, "options": {"queue": "gpu-long"}}
    with (
        SpecCluster(scheduler=scheduler, worker=worker, silence_logs=40) as cluster,
        Client(cluster) as client,
        stage.recording(client),
    ):
        cluster.scale(3)
        field = da.random.random((2000, 2000), chunks=(500, 500))
        anomaly = (field - field.mean(axis=0)).persist()
        wait(anomaly, timeout=12)


@failure(
    "workers-never-arrived",
    "worker-start-failed",
    names=["1 of 2|1/2|one of two|only 1"],
    why="one of two cannot have the port, and ends",
)
def two_workers_are_given_the_same_port(stage: Stage) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = str(taken.getsockname()[1])
    with (
        processes(0) as cluster,
        Client(cluster.address) as client,
        stage.recording(client),
    ):
        for _ in range(2):
            cluster.start_worker("--nthreads", "1", "--worker-port", port)
        client.wait_for_workers(2, timeout=15)


@failure(
    "cannot-connect",
    "stalled",
    hang=True,
    names=["tcp://127.0.0.1:1\\b"],
    why="a worker is announced at an address where no other worker reaches it",
)
def a_worker_is_announced_at_the_wrong_port(stage: Stage) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    listen = ("--listen-address", f"tcp://127.0.0.1:{port}", "--no-nanny")
    wrong = ("--contact-address", "tcp://127.0.0.1:1")

    def part(number: int) -> list[int]:
        time.sleep(0.2)
        return list(range(number))

    with processes(0) as cluster, Client(cluster.address) as client:
        cluster.start_worker("--nthreads", "1", *listen, *wrong)
        cluster.start_worker("--nthreads", "1")
        client.wait_for_workers(2, timeout=30)
        with stage.recording(client):
            parts = client.map(part, range(1, 9))
            wait(parts, timeout=20)
            print(len(client.submit(sum, parts, []).result(timeout=20)))
