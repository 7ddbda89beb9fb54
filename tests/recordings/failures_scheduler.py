"""Schedulers that go, and those that cannot be reached."""

from __future__ import annotations

import datetime as dt
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
from distributed import Client, wait
from distributed.security import Security
from staging import Stage, failure, later
from starting import Processes, processes


def _slowly(block: Any) -> Any:
    time.sleep(1)
    return block


# scheduler-lost


@failure("scheduler-lost", names="SIGKILL|killed|signal 9|lost|disappeared|gone")
def the_scheduler_is_killed(stage: Stage) -> None:
    with stage.started(2) as (client, cluster):
        assert cluster.scheduler is not None
        futures = client.map(time.sleep, [0.2] * 200, pure=False)
        later(3, cluster.scheduler.kill)
        client.gather(futures)


@failure("scheduler-lost", names="SIGTERM|signal-15|terminated", noise="another driver")
def the_pod_of_the_scheduler_is_evicted(stage: Stage) -> None:
    import dask.array as da

    with stage.started(3, "--nthreads", "2") as (_, cluster):
        assert cluster.scheduler is not None
        other = Client(cluster.address, set_as_default=False)
        busy = other.map(time.sleep, [0.3] * 60, pure=False)
        later(3, cluster.scheduler.terminate)
        x = da.ones((400,), chunks=10)
        x.map_blocks(_slowly, dtype=float, meta=x._meta).sum().compute()
        del busy


@failure("scheduler-lost", names="idle")
def the_cluster_is_idle_for_too_long(stage: Stage) -> None:
    with stage.started(2, scheduler=["--idle-timeout", "12s"]) as (client, _):
        client.gather(client.map(abs, range(20)))
        deadline = time.monotonic() + 26
        while time.monotonic() < deadline:  # the driver's own work
            time.sleep(0.5)
        client.gather(client.map(abs, range(20, 40)))


@failure("scheduler-lost", how="command", noise="handled exceptions, a dead worker")
def the_scheduler_is_killed_after_other_trouble(stage: Stage) -> None:
    with stage.started(3) as (client, cluster):
        assert cluster.scheduler is not None
        wait(client.map(divmod, range(5), [0] * 5))
        pid = next(iter(client.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        later(4, cluster.scheduler.kill)
        dask.compute(*[dask.delayed(time.sleep)(0.5) for _ in range(100)])


# cannot-connect


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@failure("cannot-connect", names=r"127\.0\.0\.1:\d+")
def nothing_listens_there(stage: Stage) -> None:
    with stage.recording():
        Client(f"tcp://127.0.0.1:{_free_port()}", timeout=4)


@failure("cannot-connect", names="dask-scheduler", how="command")
def the_name_is_not_known(stage: Stage) -> None:
    with dask.config.set({"distributed.comm.timeouts.connect": "4s"}):
        Client("tcp://dask-scheduler.invalid:8786")


@failure("cannot-connect", names="192", how="command")
def a_firewall_drops_everything(stage: Stage) -> None:
    Client("tcp://192.0.2.17:8786", timeout=5).submit(abs, -1).result()


@failure(
    "cannot-connect", names=r"127\.0\.0\.1:\d+", noise="an earlier client was good"
)
def the_scheduler_file_is_of_yesterday(stage: Stage) -> None:
    file = stage.folder / "scheduler.json"
    file.write_text(
        f'{{"type": "Scheduler", "address": "tcp://127.0.0.1:{_free_port()}"}}'
    )
    with stage.local(1) as client:
        client.submit(abs, -1).result()
        Client(scheduler_file=str(file), timeout=4)


# tls-misconfigured


def _authority(folder: Path, name: str, *, days: int = 30) -> tuple[str, str, str]:
    """Make an authority and a certificate of it: CA file, certificate, key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    now = dt.datetime.now(dt.UTC)

    def issue(
        common: str, issuer: Any = None, ca_key: Any = None, *, ca: bool
    ) -> tuple[Any, Any]:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
        until = now + dt.timedelta(days=days if not ca else 100)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer or subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=60))
            .not_valid_after(until)
            .add_extension(
                x509.BasicConstraints(ca=ca, path_length=None), critical=True
            )
            .sign(ca_key or key, hashes.SHA256())
        )
        return certificate, key

    def pem(key: Any) -> bytes:
        return bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )

    ca, ca_key = issue(f"{name} CA", ca=True)
    own, own_key = issue(name, ca.subject, ca_key, ca=False)
    files = [folder / f"{name}-{what}.pem" for what in ("ca", "cert", "key")]
    files[0].write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(own.public_bytes(serialization.Encoding.PEM))
    files[2].write_bytes(pem(own_key))
    return str(files[0]), str(files[1]), str(files[2])


@contextmanager
def _tls_cluster(folder: Path) -> Iterator[tuple[Processes, tuple[str, str, str]]]:
    ca, cert, key = _authority(folder, "cluster")
    tls = ["--tls-ca-file", ca, "--tls-cert", cert, "--tls-key", key]
    with processes(1, *tls, scheduler=[*tls, "--protocol", "tls"]) as cluster:
        yield cluster, (ca, cert, key)


def _client_with(address: str, files: tuple[str, str, str]) -> Client:
    security = Security(
        tls_ca_file=files[0],
        tls_client_cert=files[1],
        tls_client_key=files[2],
        require_encryption=True,
    )
    return Client(address, security=security, timeout=6)


@failure("tls-misconfigured", names="certificate|TLS")
def the_client_trusts_another_authority(stage: Stage) -> None:
    with _tls_cluster(stage.folder) as (cluster, _), stage.recording():
        _client_with(cluster.address, _authority(stage.folder, "other"))


@failure("tls-misconfigured", names="tls://|TLS")
def a_client_without_tls_meets_a_cluster_with_it(stage: Stage) -> None:
    with _tls_cluster(stage.folder) as (cluster, _), stage.recording():
        Client(cluster.address.replace("tls://", "tcp://"), timeout=6)


@failure("tls-misconfigured", names="tls|TLS", how="command")
def a_client_with_tls_meets_a_cluster_without(stage: Stage) -> None:
    with processes(1) as cluster:
        address = cluster.address.replace("tcp://", "tls://")
        _client_with(address, _authority(stage.folder, "mine"))


@failure("tls-misconfigured", names="certificate|TLS", how="command")
def the_certificate_of_the_cluster_has_expired(stage: Stage) -> None:
    ca, cert, key = _authority(stage.folder, "cluster", days=-1)
    tls = ["--tls-ca-file", ca, "--tls-cert", cert, "--tls-key", key]
    with processes(0, scheduler=[*tls, "--protocol", "tls"]) as cluster:
        _client_with(cluster.address, (ca, cert, key))
