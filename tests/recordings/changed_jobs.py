"""The jobs of the changed nights: where they live, what a night of them takes.

A job's folder holds its code (a repository of its own), the packages of its driver and of
its cluster, its input, and the store that it is recorded into.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
from dask_blackbox import Run, RunCard
from staging import until
from starting import processes

__all__ = ["Job"]

_CODE = Path(__file__).parent / "jobs"
_PACKAGE = 'def net(price):\n    return price / 1.19\n\n\n__version__ = "{version}"\n'
_PATIENCE = 120


class _Rates(BaseHTTPRequestHandler):
    """A service that knows today's rates."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"1.5")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def _rates() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Rates) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class Job:
    """A job that runs night after night; what a case changes are its attributes.

    Args:
        name: `orders` or `frames`.
        folder: Of its own.
        nights: How many it has had.
    """

    def __init__(self, name: str, folder: Path, nights: int = 0) -> None:
        self.name, self.folder, self.nights = name, folder, nights
        self.code, self.store = folder / "code", folder / "store"
        self.cards: list[RunCard] = []
        self.called = name
        self.run_id = ""
        self.arguments: list[str] = []
        self.environment: dict[str, str] = {}
        """Variables of the driver, and of a cluster that it has of its own."""
        self.cluster: dict[str, str] = {}
        """Variables of the cluster."""
        self.of_workers = {"JOB_IMAGE": "registry/shop:2026.11.1"}
        """Variables of its workers alone."""
        self.workers, self.worker_options, self.python = 2, ["--nthreads", "1"], ""
        self.before: list[str] = []
        """Words before the driver's command."""
        self.service = True
        self.rows, self.columns, self.files = 1.0, 3, 16
        self.least = "10"

    def set_up(self) -> None:
        """Write its code, as the first commit of its repository, and its packages."""
        shutil.copytree(_CODE / self.name, self.code)
        (self.code / ".gitignore").write_text("input/\n__pycache__/\n")
        self.git("init", "-q")
        self.commit("first")
        for role in ("driver", "cluster"):
            self.install(role, "shoptools", "1.2.0", _PACKAGE)

    def git(self, *words: str) -> None:
        """Call git in its repository."""
        who = ["-c", "user.name=shop", "-c", "user.email=shop@example.com"]
        subprocess.run(["git", *who, *words], cwd=self.code, check=True)

    def commit(self, message: str) -> None:
        """Commit all of its code."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace a text in one of its files."""
        path = self.code / file
        text = path.read_text()
        if old not in text:
            raise ValueError(f"{file} has no {old!r}")
        path.write_text(text.replace(old, new))

    def install(self, role: str, name: str, version: str, code: str = "") -> None:
        """Install a package for the driver or for the cluster."""
        site = self.folder / role / "site-packages"
        for old in site.glob(f"{name}*"):
            shutil.rmtree(old)
        for inner in (name, f"{name}-{version}.dist-info"):
            (site / inner).mkdir(parents=True)
        (site / name / "__init__.py").write_text(code.replace("{version}", version))
        facts = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (site / f"{name}-{version}.dist-info" / "METADATA").write_text(facts)

    @property
    def day(self) -> str:
        """The day that is worked on."""
        return f"2026-11-{self.nights:02d}"

    def night(self) -> RunCard:
        """Run once more, and return the card."""
        self.nights += 1
        chance = random.Random(self.nights)
        run = self.run_id or f"scheduled__{self.day}T02:00:00+00:00"
        self.run_id = ""
        if self.name == "frames":
            self._tables(chance)
            self._run_frames(run)
        else:
            self._orders(chance)
            self._run_orders(run, chance)
        cards = self.store.glob("runs/*/*/*/card.json")
        newest = max(cards, key=lambda path: path.stat().st_mtime)
        self.cards.append(Run.open(newest.parent).card())
        return self.cards[-1]

    @contextmanager
    def another_at_once(self) -> Iterator[None]:
        """Have another night of it go on, which has begun before."""
        other = Job(self.name, self.folder, self.nights)
        other.arguments = ["--pause", "40"]
        before = self._recorded()
        thread = threading.Thread(target=other.night)
        thread.start()
        until(lambda: self._recorded() - before)
        self.nights += 1
        yield
        thread.join()

    def kill_one(self) -> None:
        """Have a night whose driver and recorder are killed at once."""
        before = self._recorded()
        with self.another_at_once():
            until(lambda: self._recorded() - before)
            here = str(self.store)
            for each in psutil.process_iter(["cmdline"]):
                if here in " ".join(each.info["cmdline"] or ()):
                    each.kill()

    def _recorded(self) -> set[Path]:
        return set(self.store.glob("runs/*/*/*"))

    def _path(self, role: str) -> str:
        here = [str(self.folder / role / "site-packages"), os.environ["PYTHONPATH"]]
        return os.pathsep.join(here)

    def _orders(self, chance: random.Random) -> None:
        folder = self.folder / "input" / self.day
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(self.files):
            rows = round(400 * self.rows * chance.uniform(0.97, 1.03))
            reported = [{"price": chance.randrange(500), "id": n} for n in range(rows)]
            (folder / f"{number}.json").write_text(json.dumps(reported))

    def _run_orders(self, run: str, chance: random.Random) -> None:
        """Run the job on a cluster of processes, by `dask blackbox run`."""
        here = {"PYTHONPATH": self._path("cluster"), **self.cluster}
        with ExitStack() as night:
            cluster = night.enter_context(processes(0, environment=here))
            cluster.environment |= self.of_workers
            for _ in range(self.workers):
                cluster.start_worker(*self.worker_options, python=self.python)
            rates = "http://127.0.0.1:9"
            if self.service:
                rates = night.enter_context(_rates())
            command = [
                *self.before, sys.executable, "-m", "dask", "blackbox", "run",
                "--store", str(self.store), "--job", self.called, "--run-id", run, "--",
                sys.executable, "job.py", cluster.address, "--day", self.day,
                "--input", str(self.folder / "input" / self.day), "--rates", rates,
                "--token", uuid.uuid4().hex, "--seed", str(chance.randrange(10**6)), *self.arguments,
            ]  # fmt: skip
            self._call(command, {})

    def _tables(self, chance: random.Random) -> None:
        import numpy as np
        import pandas as pd

        folder = self.code / "input" / self.day
        folder.mkdir(parents=True)
        random_ = np.random.default_rng(self.nights)
        for number in range(self.files // 4):
            rows = round(200_000 * self.rows * chance.uniform(0.97, 1.03))
            frame = pd.DataFrame(
                {
                    "customer": random_.integers(0, 1000, rows),
                    "price": random_.random(rows) * 100,
                    "name": pd.Series(random_.integers(0, 999, rows)).astype(str),
                }
            )
            for n in range(3, self.columns):
                frame[f"extra {n}"] = pd.Series(random_.random(rows)).astype(str)
            frame.to_parquet(folder / f"{number}.parquet")

    def _run_frames(self, run: str) -> None:
        """Run the job, which has a cluster of its own, and records itself."""
        reported = {"JOB_STORE": str(self.store), "JOB_RUN": run}
        command = [*self.before, sys.executable, "job.py", self.day, self.least]
        self._call([*command, *self.arguments], reported)

    def _call(self, command: list[str], reported: dict[str, str]) -> None:
        here = {"PYTHONPATH": self._path("driver"), "PYTHONDONTWRITEBYTECODE": "1"}
        with (self.folder / "said.txt").open("ab") as said:
            subprocess.run(
                command,
                cwd=self.code,
                env={**os.environ, **here, **reported, **self.environment},
                stdout=said,
                stderr=said,
                timeout=_PATIENCE,
                check=False,
            )
