"""A fourth set held out: clusters, wires and environments, and what does not travel.

Written by somebody who had read no rule and no other story.  What came out the first time
is written down in `heldout.json`, and stays.
"""

from __future__ import annotations

import datetime as dt
import importlib.util
import os
import re
import signal
import socket
import ssl
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from distributed import Client, as_completed
from distributed.security import Security
from staging import NotHere, Stage, delayed
from staging import failure as any_failure
from starting import processes

failure = partial(any_failure, held_out="fourth: services")

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


@failure(
    "graph-not-serializable",
    names=["pool objects|ThreadPool"],
    accepted="Dask swallows what the pool said of itself",
)
def a_pool_of_threads_is_handed_to_tasks(stage: Stage) -> None:
    def download(number: int, pool: ThreadPool) -> int:
        return sum(pool.map(abs, range(number)))

    with stage.local(), ThreadPool(2) as pool:
        parts = [delayed(download)(each, pool) for each in range(6)]
        delayed(sum)(parts).compute()


@failure(
    "graph-not-deserializable",
    names=["ZoneInfo|time zone|Europe/Vienna"],
    noise="drivers and workers know all time zones; the scheduler's image is slim",
    accepted="it names tzdata, which is better",
)
def the_image_of_the_scheduler_knows_no_time_zones(stage: Stage) -> None:
    def hours(zone: ZoneInfo, day: int) -> int:
        begin = dt.datetime(2026, 3, day, tzinfo=zone)
        end = dt.datetime(2026, 3, day + 1, tzinfo=zone)
        return int((end.astimezone(dt.UTC) - begin.astimezone(dt.UTC)).seconds / 3600)

    try:
        zone = ZoneInfo("Europe/Vienna")
    except KeyError as missing:
        raise NotHere("nobody knows time zones here") from missing
    with stage.started(
        2, shell="unset PYTHONTZPATH", environment={"PYTHONTZPATH": ""}
    ) as (client, _):
        client.gather(client.map(partial(hours, zone), range(25, 31)))


@failure(
    "environment-mismatch",
    names=["geometry", "area"],
    noise="a forgotten file where workers start has the name of a package",
)
def a_file_on_the_workers_hides_a_package(stage: Stage) -> None:
    text = "def area(width, height):\n    return width * height\n"
    folder = stage.package("geometry", text, "4.2")
    path = os.environ.get("PYTHONPATH", "")

    def field(width: int) -> int:
        from geometry import area  # type: ignore[import-not-found]

        return int(area(width, 3))

    with stage.started(2, environment={"PYTHONPATH": f"{folder}:{path}"}) as (
        client,
        cluster,
    ):
        (cluster.folder / "geometry.py").write_text("SQUARE = 4\n")
        client.gather(client.map(field, range(8)))


@failure("module-not-shipped", names=["tenant_rules"], hang=True, bound=25)
def rules_are_loaded_from_a_path_of_the_configuration(stage: Stage) -> None:
    path = stage.folder / "rules-2026.py"
    path.write_text("def discount(order):\n    return order // 10\n")
    found = importlib.util.spec_from_file_location("tenant_rules", path)
    if found is None or found.loader is None:
        raise NotHere("a file cannot be loaded")
    rules = importlib.util.module_from_spec(found)
    sys.modules["tenant_rules"] = rules
    found.loader.exec_module(rules)
    with stage.local() as client:
        orders = client.map(abs, range(0, -60, -10))
        client.gather(client.map(rules.discount, orders))


@failure("result-not-serializable", names=["Match", "find_version"])
def matches_of_a_pattern_are_returned(stage: Stage) -> None:
    def find_version(line: str) -> re.Match[str] | None:
        return re.search(r"(\d+)\.(\d+)", line)

    lines = ["dask 2026.8", "no version here", "numpy 2.4", "pandas 3.1"]
    with stage.local() as client:
        found = client.gather(client.map(find_version, lines))
        print([each.group(1) for each in found if each])


@failure(
    "cannot-connect",
    names=[r"127\.0\.0\.1:\d+"],
    how="command",
    accepted="what was seen fits TLS as well; low",
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


@failure("tls-misconfigured", names=["TLS|SSL|protocol"])
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


@failure(
    "driver-exception",
    names=["ZeroDivisionError", "failures_fourth_services"],
    how="command",
    noise="a worker was killed and came back; much work is left when it ends",
)
def the_driver_divides_by_what_a_shop_has_not_sold(stage: Stage) -> None:
    marker = stage.folder / "killed"

    def sold(shop: int) -> int:
        if shop == 1 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.5)
        return shop % 7

    with stage.local() as client:
        total = 0.0
        futures = client.map(sold, range(1, 40))
        for done in as_completed(futures):
            total += 100 / done.result()
        print(total)


@failure("result-too-large", names=["concat", "MiB|GiB|MB"])
def all_tables_are_put_into_one_task(stage: Stage) -> None:
    def load(number: int) -> pd.DataFrame:
        drawn = np.random.default_rng(number).random((750_000, 2))
        return pd.DataFrame(drawn, columns=["x", "y"])

    with stage.local(memory_limit="400MiB") as client:
        tables = [delayed(load)(number) for number in range(48)]
        client.compute(delayed(pd.concat)(tables)).result()
