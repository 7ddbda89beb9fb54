"""A real Prefect server for a while: started, given flows to run, asked, and stopped.

Only the standard library is used here; Prefect itself lives in the environment whose
Python is given.  The demo uses it, and so do the end-to-end tests.

    with PrefectHost(folder, python=".venvs/prefect/bin/python") as host:
        run = host.run_flow("flows/recorded_etl.py")
        print(run.state, host.artifacts(run.id))
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["FlowRunSeen", "PrefectHost"]

_START = 300.0
"""Seconds for a server with a new database; 12 on an idle machine, 200 on a busy one."""
_STOP = 15.0
_LOCKED = 60.0
"""Seconds for which a request is repeated that the server refuses as unavailable."""


@dataclass(frozen=True)
class FlowRunSeen:
    """A flow run, as the server describes it.

    Attributes:
        id: Of the flow run.
        name: Its generated name.
        state: `COMPLETED`, `FAILED`, `CRASHED`, …
        message: The state's message.
        url: Of its page.
        output: What the process that ran it printed; empty if it was not run here.
    """

    id: str
    name: str
    state: str
    message: str
    url: str
    output: str = ""


class PrefectHost:
    """A Prefect server of one's own, on a free port of this machine.

    Attributes:
        url: Of the server; its API is below `/api`, its pages below `/v2`.
        environ: What a process needs to talk to it.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        python: str | Path = sys.executable,
        progress: Callable[[str], None] | None = None,
        patience: float = 1.0,
    ) -> None:
        """Prepare a server.

        Args:
            folder: Where Prefect keeps its database and its log.
            python: Of the environment that Prefect is installed in.
            progress: Called every few seconds with what is being waited for.
            patience: How many times longer than usual anything may take, on a machine
                that is busy.
        """
        self._patience = patience
        self._folder = Path(folder).resolve()
        # Not resolved: the link is what shows Python its environment.
        self._python = str(Path(python).absolute())
        self._progress = progress or (lambda _text: None)
        self._port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://127.0.0.1:{self._port}"
        self.environ = {
            **_without_prefect(os.environ),
            "PREFECT_HOME": str(self._folder),
            "PREFECT_API_URL": f"{self.url}/api",
            "PREFECT_UI_URL": self.url,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "DO_NOT_TRACK": "1",
        }

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server and wait until it answers.

        Raises:
            RuntimeError: if it does not; its last lines are in the message.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        command = [self._python, "-m", "prefect", "server", "start"]
        command += ["--host", "127.0.0.1", "--port", str(self._port)]
        server = {
            "PREFECT_API_DATABASE_CONNECTION_URL": (
                f"sqlite+aiosqlite:///{self._folder / 'prefect.db'}"
            ),
            "PREFECT_SERVER_UI_API_URL": f"{self.url}/api",
        }
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                command,
                env={**self.environ, **server},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._wait_until_it_answers()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server and whatever it started."""
        process, self._process = self._process, None
        if process is None:
            return
        for number in (signal.SIGINT, signal.SIGKILL):
            if process.poll() is None:
                os.killpg(process.pid, number)
            try:
                process.wait(timeout=_STOP)
            except subprocess.TimeoutExpired:
                continue
            return

    def run_flow(
        self,
        script: str | Path,
        *,
        environ: Mapping[str, str] | None = None,
        timeout: float = 300.0,
    ) -> FlowRunSeen:
        """Run a script that runs one flow, and return its flow run.

        Args:
            script: A Python file that calls a flow when it is run.
            environ: More environment for it.
            timeout: Seconds until it is given up.

        Raises:
            RuntimeError: if it did not end in time, or no flow run came of it; what it
                printed is in the message.
        """
        timeout *= self._patience
        before = {run.id for run in self.flow_runs()}
        command = [self._python, str(script)]
        with subprocess.Popen(  # noqa: S603 - the caller's own script
            command,
            env={**self.environ, **(environ or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                printed, _ = process.communicate(timeout=timeout)
            except BaseException as error:
                os.killpg(process.pid, signal.SIGKILL)
                printed, _ = process.communicate()
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                raise RuntimeError(
                    f"{script} did not end in {timeout:.0f} s. It printed:\n"
                    f"{_tail(printed)}"
                ) from error
        new = [run for run in self.flow_runs() if run.id not in before]
        if not new:
            raise RuntimeError(f"{script} ran no flow. It printed:\n{_tail(printed)}")
        # Oldest first: a parent comes before its subflows.
        return FlowRunSeen(
            **{**vars(new[0]), "output": printed.decode(errors="replace")}
        )

    def flow_runs(self) -> list[FlowRunSeen]:
        """Return all flow runs, oldest first."""
        runs = self.ask("flow_runs/filter", {"sort": "START_TIME_ASC"})
        return [self._seen(run) for run in runs]

    def flow_run(self, flow_run_id: str) -> FlowRunSeen:
        """Return a flow run as it is now."""
        return self._seen(self.ask(f"flow_runs/{flow_run_id}"))

    def task_runs(self, flow_run_id: str) -> list[dict[str, Any]]:
        """Return the task runs of a flow run."""
        mine = {"flow_runs": {"id": {"any_": [flow_run_id]}}}
        found: list[dict[str, Any]] = self.ask("task_runs/filter", mine)
        return found

    def artifacts(self, flow_run_id: str) -> dict[str, str]:
        """Return the data of the artifacts on a flow run's page, by key."""
        mine = {"artifacts": {"flow_run_id": {"any_": [flow_run_id]}}}
        found = self.ask("artifacts/filter", mine)
        return {each["key"]: str(each["data"]) for each in found if each["key"]}

    def ask(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the API's answer: to a GET, or with a body to a POST."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 - our own server
            f"{self.url}/api/{path}",
            data=data,
            headers={"Content-Type": "application/json"},
        )
        deadline = time.monotonic() + _LOCKED * self._patience
        while True:
            try:
                with urllib.request.urlopen(  # noqa: S310 - our own server
                    request, timeout=30 * self._patience
                ) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                # Its SQLite was locked: it has done nothing, and asks to be asked again.
                unavailable = error.code == HTTPStatus.SERVICE_UNAVAILABLE
                if not unavailable or time.monotonic() > deadline:
                    raise
            time.sleep(0.2)

    @property
    def _log(self) -> Path:
        return self._folder / "server.log"

    def _wait_until_it_answers(self) -> None:
        limit = _START * self._patience
        began = reported = time.monotonic()
        while True:
            now = time.monotonic()
            try:
                self.ask("health")
            except (urllib.error.URLError, OSError, ValueError):
                pass
            else:
                return
            ended = self._process is None or self._process.poll() is not None
            if ended or now - began > limit:
                why = "ended at once" if ended else f"gave no answer in {limit:.0f} s"
                raise RuntimeError(
                    f"the Prefect server {why}. {self._log} says:\n"
                    f"{_tail(self._log.read_bytes())}"
                )
            if now - reported > 5:  # noqa: PLR2004
                reported = now
                self._progress(f"waiting for Prefect's server ({now - began:.0f} s)")
            time.sleep(0.2)

    def _seen(self, run: Mapping[str, Any]) -> FlowRunSeen:
        state = run.get("state") or {}
        return FlowRunSeen(
            id=run["id"],
            name=run["name"],
            state=str(run.get("state_type")),
            message=str(state.get("message") or ""),
            url=f"{self.url}/v2/runs/flow-run/{run['id']}",
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _without_prefect(environ: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith("PREFECT_")
    }


def _tail(printed: bytes, lines: int = 30) -> str:
    return "\n".join(printed.decode(errors="replace").splitlines()[-lines:])
