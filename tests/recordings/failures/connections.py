"""Addresses that cannot be reached, and TLS that is misconfigured."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import os
import signal
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import dask
import dask.bag as db
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from distributed import Client, LocalCluster, wait
from distributed.security import Security
from staging import Stage, failure
from starting import Processes, processes


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


@failure(
    "cannot-connect", names="8787|http|scheme|listen", how="command", held_out="first"
)
def the_address_of_the_dashboard_is_given(stage: Stage) -> None:
    import http.server
    import threading

    server = http.server.HTTPServer(
        ("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Client(f"tcp://127.0.0.1:{server.server_port}", timeout=5)


@failure("cannot-connect", names="10.255.255.1|8786", how="command", held_out="second")
def an_address_behind_a_firewall(stage: Stage) -> None:
    async def main() -> None:
        async with Client("tcp://10.255.255.1:8786", asynchronous=True, timeout=6):
            pass

    asyncio.run(main())


@failure("cannot-connect", held_out="second")
def the_configured_address_is_nobodys(stage: Stage) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        stage.recording(),
        dask.config.set(
            {
                "scheduler-address": f"tcp://127.0.0.1:{port}",
                "distributed.comm.timeouts.connect": "5s",
            }
        ),
        Client() as client,
    ):
        client.submit(sum, [1, 2]).result()


@failure(
    "cannot-connect",
    names=["refused|listens|nobody", "tcp://127.0.0.1:[0-9]+"],
    held_out="third: services",
)
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


class ClusterUnavailableError(Exception):
    """What the job's own code makes of it."""


@failure(
    "cannot-connect",
    names=["dask-scheduler.prod.svc.invalid"],
    how="command",
    noise="three attempts, and an exception of one's own at the end",
    held_out="third: services",
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
    held_out="third: services",
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
    held_out="third: services",
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


@failure(
    "cannot-connect",
    "stalled",
    hang=True,
    names=["tcp://127.0.0.1:1\\b"],
    why="a worker is announced at an address where no other worker reaches it",
    held_out="third: services",
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


@failure(
    "cannot-connect",
    names=[r"127\.0\.0\.1:\d+"],
    how="command",
    accepted="what was seen fits TLS as well; low",
    held_out="fourth: services",
)
def a_load_balancer_without_backends(stage: Stage) -> None:
    def answer(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                listener.accept()[0].close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, args=(listener,), daemon=True).start()
        port = listener.getsockname()[1]
        with Client(f"tcp://127.0.0.1:{port}", timeout="8s") as client:
            client.submit(abs, -1).result()


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


def _client_with(address: str, files: tuple[str, str, str]) -> Client:
    security = Security(
        tls_ca_file=files[0],
        tls_client_cert=files[1],
        tls_client_key=files[2],
        require_encryption=True,
    )
    return Client(address, security=security, timeout=6)


@contextmanager
def _tls_cluster(folder: Path) -> Iterator[tuple[Processes, tuple[str, str, str]]]:
    ca, cert, key = _authority(folder, "cluster")
    tls = ["--tls-ca-file", ca, "--tls-cert", cert, "--tls-key", key]
    with processes(1, *tls, scheduler=[*tls, "--protocol", "tls"]) as cluster:
        yield cluster, (ca, cert, key)


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


@failure("tls-misconfigured", names="tls|certificate|ssl", held_out="second")
def the_client_has_another_authority(stage: Stage) -> None:
    theirs, ours = Security.temporary(), Security.temporary()
    with (
        LocalCluster(
            n_workers=1, security=theirs, dashboard_address=None, protocol="tls"
        ) as cluster,
        stage.recording(),
        Client(cluster.scheduler_address, security=ours, timeout=6) as client,
    ):
        client.submit(sum, [1, 2]).result()


@failure("tls-misconfigured", names="tls|certificate|ssl", held_out="second")
def the_client_brings_no_certificate(stage: Stage) -> None:
    with (
        LocalCluster(
            n_workers=1,
            security=Security.temporary(),
            dashboard_address=None,
            protocol="tls",
        ) as cluster,
        stage.recording(),
        Client(cluster.scheduler_address, timeout=6) as client,
    ):
        client.submit(sum, [1, 2]).result()


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


@failure("tls-misconfigured", names=["expired"], held_out="third: services")
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
    held_out="third: services",
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


_TODAY = dt.datetime.now(tz=dt.UTC)


class Authority:
    """Signs certificates, as a company's own authority does.

    Attributes:
        folder: Where its certificate, and those that it signs, lie.
    """

    def __init__(self, folder: Path, name: str) -> None:
        """Make a key and a certificate that says of itself that it may sign."""
        self.folder = folder / name
        self.folder.mkdir()
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, name)])
        own = self._signed(self._name, self._key, days=30, authority=True)
        self.certificate = self.folder / "ca.pem"
        self.certificate.write_bytes(own)

    def issue(self, name: str, *, days: int) -> tuple[str, str]:
        """Return the files of a certificate that ends in so many days, and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, name)])
        certificate = self.folder / f"{name}.pem"
        certificate.write_bytes(self._signed(subject, key, days=days, authority=False))
        secret = self.folder / f"{name}.key"
        secret.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return str(certificate), str(secret)

    def options(self, name: str, *, days: int) -> tuple[str, ...]:
        """Return what `dask scheduler` or `dask worker` is started with."""
        certificate, secret = self.issue(name, days=days)
        words = ("--tls-ca-file", str(self.certificate), "--tls-cert", certificate)
        return (*words, "--tls-key", secret)

    def security(self, name: str, **more: Any) -> Security:
        """Return what a client connects with."""
        certificate, secret = self.issue(name, days=30)
        return Security(
            tls_ca_file=str(self.certificate),
            tls_client_cert=certificate,
            tls_client_key=secret,
            require_encryption=True,
            **more,
        )

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        *,
        days: int,
        authority: bool,
    ) -> bytes:
        made = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(_TODAY - dt.timedelta(days=90))
            .not_valid_after(_TODAY + dt.timedelta(days=days))
            .add_extension(x509.BasicConstraints(authority, None), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        return made.public_bytes(serialization.Encoding.PEM)


@failure("tls-misconfigured", names=["TLS|SSL|protocol"], held_out="fourth: services")
def a_hardened_driver_insists_on_a_newer_tls(stage: Stage) -> None:
    own = Authority(stage.folder, "company")
    options = own.options("scheduler", days=30)
    old = {"DASK_DISTRIBUTED__COMM__TLS__MAX_VERSION": "1.2"}
    with (
        processes(
            0, scheduler=("--protocol", "tls", *options), environment=old
        ) as cluster,
        stage.recording(),
        Client(
            cluster.address,
            security=own.security("etl", tls_min_version=ssl.TLSVersion.TLSv1_3),
            timeout="8s",
        ) as client,
    ):
        client.submit(abs, -1).result()


@failure(
    "tls-misconfigured",
    "workers-never-arrived",
    names=["TLS|certificate|handshake|encrypt"],
    why="they never arrive because they connect without TLS to a port that requires it",
    held_out="fourth: services",
)
def the_image_of_the_workers_has_no_settings_of_tls(stage: Stage) -> None:
    own = Authority(stage.folder, "company")
    options = own.options("scheduler", days=30)
    with (
        processes(0, scheduler=("--protocol", "tls", *options)) as cluster,
        Client(cluster.address, security=own.security("etl")) as client,
        stage.recording(client),
    ):
        cluster.address = cluster.address.replace("tls://", "tcp://")
        for number in range(2):
            cluster.start_worker("--nthreads", "1", "--name", f"etl-{number}")
        client.wait_for_workers(2, timeout=14)
