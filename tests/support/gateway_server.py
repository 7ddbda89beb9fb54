"""A real dask-gateway whose clusters are processes of this machine."""

from __future__ import annotations

import base64
import getpass
import json
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil
from conditions import scaled, until

__all__ = ["REQUIREMENTS", "Gateway", "served_gateway"]

REQUIREMENTS = ("dask-gateway==2026.3.0", "dask-gateway-server==2026.3.0", "sqlalchemy")
"""What its environment needs, beside Dask."""

_CONFIG = """
c.DaskGateway.backend_class = "dask_gateway_server.backends.local.UnsafeLocalBackend"
c.DaskGateway.authenticator_class = "dask_gateway_server.auth.SimpleAuthenticator"
c.DaskGateway.address = "127.0.0.1:{api}"
c.Proxy.address = "127.0.0.1:{http}"
c.Proxy.tcp_address = "127.0.0.1:{tcp}"
c.UnsafeLocalBackend.clusters_directory = "{folder}"
c.UnsafeLocalBackend.sigint_timeout = 2
c.ClusterConfig.scheduler_cmd = ["{python}", "-m", "dask", "scheduler"]
c.ClusterConfig.worker_cmd = ["{python}", "-m", "dask", "worker"]
from dask_gateway_server.options import Mapping, Options
c.Backend.cluster_options = Options(
    Mapping("settings", {{}}), handler=lambda options: options.settings
)
"""


class Gateway(NamedTuple):
    """A gateway that runs.

    Attributes:
        python: Of an environment with its library.
        http: Port of its API.
        tcp: Port of its proxy for schedulers.
    """

    python: Path
    http: int
    tcp: int

    @property
    def arguments(self) -> dict[str, str]:
        """Arguments with which its library reaches it."""
        return {
            "address": f"http://127.0.0.1:{self.http}",
            "proxy_address": f"gateway://127.0.0.1:{self.tcp}",
        }

    def clusters(self) -> set[str]:
        """Return the names of the clusters that it runs."""
        url = f"http://127.0.0.1:{self.http}/api/v1/clusters/?status=PENDING,RUNNING"
        # Each user sees only their own clusters.
        user = base64.b64encode(f"{getpass.getuser()}:".encode()).decode()
        headers = {"Authorization": f"Basic {user}"}
        request = urllib.request.Request(url, headers=headers)
        with urllib.request.urlopen(request, timeout=scaled(30)) as answer:
            return set(json.load(answer))


@contextmanager
def served_gateway(folder: Path, python: Path) -> Iterator[Gateway]:
    """Run a gateway; end it, and what it started, afterwards.

    Args:
        folder: For its files.
        python: Of an environment that has `REQUIREMENTS`.
    """
    api, http, tcp = (_free_port() for _ in range(3))
    config = folder / "config.py"
    config.write_text(
        _CONFIG.format(python=python, folder=folder, api=api, http=http, tcp=tcp)
    )
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [str(python.with_name("dask-gateway-server")), "-f", str(config)],
            stdout=log,
            stderr=subprocess.STDOUT,
        )

    def answers() -> bool:
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{http}/api/health", timeout=scaled(5)
            ):
                return True
        except OSError:
            return False

    try:
        until(answers, describe=(folder / "server.log").read_text)
        yield Gateway(python, http, tcp)
    finally:
        family = psutil.Process(server.pid).children(recursive=True)
        server.terminate()
        server.wait(60)
        _, alive = psutil.wait_procs(family, timeout=scaled(20))
        for each in alive:
            each.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
