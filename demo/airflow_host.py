"""A real Airflow for a while: started, given DAGs to run, asked, and stopped.

The demo uses it, and so do the end-to-end tests.  Scheduler, DAG processor and API server
are processes of the environment whose folder of commands is given; they listen on loopback
only, which `airflow standalone` does not.

    with AirflowHost(folder, dags="dags", commands=".venvs/airflow/bin") as host:
        run = host.trigger("recorded_etl")
        print(host.wait(run), host.log(run, "revenue_by_country"))
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import psutil

__all__ = ["AirflowError", "AirflowHost", "DagRunSeen"]

_MIGRATION = 120.0
"""Seconds for making the database; 5 on an idle machine."""
_START = 180.0
"""Seconds until all components are healthy; 15 on an idle machine."""
_STOP = 10.0
_TELLING = 5.0
_POLLING = 0.5
_ATTEMPTS = 20
_LOCKED = '"Database error"'
"""In what Airflow answers while another of its processes writes: SQLite has one writer."""
_ENDED = ("success", "failed")
_COMPONENTS = {
    "api-server": ("--host", "127.0.0.1", "--port", "{port}"),
    "scheduler": ("--skip-serve-logs",),
    "dag-processor": (),
}
_HEALTH = ("metadatabase", "scheduler", "dag_processor")


class AirflowError(RuntimeError):
    """Airflow did not do what was asked; the message says what and shows its last lines."""


@dataclass(frozen=True)
class DagRunSeen:
    """A run of a DAG: which one."""

    dag_id: str
    run_id: str

    @property
    def path(self) -> str:
        """Of the run in Airflow's API."""
        return f"dags/{quote(self.dag_id)}/dagRuns/{quote(self.run_id, safe='')}"


class AirflowHost:
    """An Airflow of one's own, on a free port of this machine.

    Attributes:
        url: Of its pages; its API is below `/api/v2`.
        environ: What its processes run with.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        dags: str | Path,
        commands: str | Path,
        environ: Mapping[str, str] | None = None,
        progress: Callable[[str], None] | None = None,
        prefix: str = "",
        users: Mapping[str, str] | None = None,
        patience: float = 1.0,
    ) -> None:
        """Prepare an Airflow.

        Args:
            folder: Where it keeps its database and its logs; deep ones are fine.
            dags: The folder of DAG files.
            commands: The folder with the command `airflow`.
            environ: More environment for it, and so for the tasks.
            progress: Called every few seconds with what is being waited for.
            prefix: Path before all of its addresses, such as `/airflow`.
            users: Names and roles of those who may log in, each with the name as
                password, the first being `admin`; None: nobody has to.
            patience: How many times longer than usual anything may take, on a machine
                that is busy.
        """
        self._users = dict(users or {})
        self._patience = patience
        self._folder = Path(folder).resolve()
        self._airflow = str(Path(commands).absolute() / "airflow")
        self._progress = progress or (lambda _text: None)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._sessions: set[int] = set()
        self._token = ""
        self._port = _free_port()
        self.url = f"http://127.0.0.1:{self._port}{prefix}"
        self.environ = {
            **_without_airflow(os.environ),
            **_settings(self._folder, Path(dags).absolute(), self.url),
            **_login(self._users),
            **(environ or {}),
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
        """Make the database, start the components and wait until they are healthy.

        Raises:
            AirflowError: if one does not start.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            self._begin("db migrate", "db", "migrate")
            self._until(self._migrated, _MIGRATION, "making Airflow's database")
            self._write_passwords()
            for name, arguments in _COMPONENTS.items():
                port = str(self._port)
                self._begin(name, name, *(each.format(port=port) for each in arguments))
            self._until(self._healthy, _START, "starting Airflow")
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the components and whatever they started."""
        for process in self._processes.values():
            process.terminate()
        with ExitStack() as reaped:
            for process in self._processes.values():
                reaped.callback(process.wait)
            psutil.wait_procs(self._own(), timeout=_STOP)
            # Again and again: a nanny replaces the worker that was killed before it.
            deadline = time.monotonic() + _STOP
            while (left := self._own()) and time.monotonic() < deadline:
                for each in left:
                    with suppress(psutil.Error):
                        each.kill()
                psutil.wait_procs(left, timeout=1)
        self._processes.clear()

    def trigger(
        self, dag_id: str, conf: Mapping[str, Any] | None = None, timeout: float = 90.0
    ) -> DagRunSeen:
        """Start a run of a DAG.

        Args:
            dag_id: Of the DAG.
            conf: The run's configuration.
            timeout: Seconds to wait for the DAG's file to be read.

        Raises:
            AirflowError: if there is no such DAG, with why its file cannot be imported.
        """

        def known() -> bool:
            if errors := self.ask("importErrors")["import_errors"]:
                raise AirflowError(
                    "\n".join(
                        f"{each['filename']}: {each['stack_trace']}" for each in errors
                    )
                )
            with suppress(AirflowError):
                self.ask(f"dags/{quote(dag_id)}")
                return True
            return False

        self._until(known, timeout, f"reading the DAG {dag_id}")
        body = {"logical_date": None, "conf": dict(conf or {})}
        started = self.ask(f"dags/{quote(dag_id)}/dagRuns", body)
        return DagRunSeen(dag_id, started["dag_run_id"])

    def wait(self, run: DagRunSeen, timeout: float = 300.0) -> str:
        """Return how the run ended: `success` or `failed`.

        Raises:
            AirflowError: if it did not end in time.
        """

        def ended() -> bool:
            return self.state(run) in _ENDED

        self._until(ended, timeout, f"running {run.dag_id}")
        return self.state(run)

    def state(self, run: DagRunSeen) -> str:
        """Return the run's state as it is now."""
        return str(self.ask(run.path)["state"])

    def task(self, run: DagRunSeen, task_id: str) -> dict[str, Any]:
        """Return what Airflow knows of a task instance."""
        found: dict[str, Any] = self.ask(f"{run.path}/taskInstances/{quote(task_id)}")
        return found

    def set_state(self, run: DagRunSeen, task_id: str, state: str) -> None:
        """Mark a task instance as people do on its page, e.g. as `failed`."""
        path = f"{run.path}/taskInstances/{quote(task_id)}"
        self.ask(path, {"new_state": state}, method="PATCH")

    def links(self, run: DagRunSeen, task_id: str) -> dict[str, str | None]:
        """Return what the buttons on the task's page open, by their names."""
        path = f"{run.path}/taskInstances/{quote(task_id)}/links"
        found: dict[str, str | None] = self.ask(path)["extra_links"]
        return found

    def xcom(self, run: DagRunSeen, task_id: str, key: str = "return_value") -> Any:
        """Return a value that the task pushed."""
        path = f"{run.path}/taskInstances/{quote(task_id)}/xcomEntries/{quote(key)}"
        return self.ask(f"{path}?deserialize=true")["value"]

    def log(self, run: DagRunSeen, task_id: str, attempt: int = 1) -> list[str]:
        """Return the lines of the task's log."""
        path = f"{run.path}/taskInstances/{quote(task_id)}/logs/{attempt}"
        content = self.ask(f"{path}?full_content=true")["content"]
        return [str(line.get("event", "")) for line in content]

    def page(self, run: DagRunSeen, task_id: str) -> str:
        """Return the address of the task instance's page."""
        place = f"runs/{quote(run.run_id, safe='')}/tasks/{quote(task_id)}"
        return f"{self.url}/dags/{quote(run.dag_id)}/{place}"

    def ask(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        method: str | None = None,
    ) -> Any:
        """Return the API's answer: to a GET, or with a body to a POST.

        Raises:
            AirflowError: if it says no, or nothing.
        """
        _ = self.token
        return self._get(f"{self.url}/api/v2/{path}", body, method)

    @property
    def token(self) -> str:
        """Of somebody who may do everything; a browser has it as its cookie `_token`.

        Raises:
            AirflowError: if Airflow does not give one.
        """
        if not self._token:
            name = next(iter(self._users), "")
            who = {"username": name, "password": name} if name else None
            self._token = self._get(f"{self.url}/auth/token", who)["access_token"]
        return self._token

    def _get(
        self,
        url: str,
        body: Mapping[str, Any] | None = None,
        method: str | None = None,
    ) -> Any:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 - our own server
            url, data, headers, method=method
        )
        for attempt in range(_ATTEMPTS):
            try:
                with urllib.request.urlopen(  # noqa: S310 - our own server
                    request, timeout=30 * self._patience
                ) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                said = error.read().decode(errors="replace")
                if _LOCKED not in said or attempt == _ATTEMPTS - 1:
                    raise AirflowError(f"{url}: {error.code} {said}") from error
            except OSError as error:
                raise AirflowError(f"{url}: {error}") from error
            time.sleep(_POLLING)
        return None

    def _write_passwords(self) -> None:
        if self._users:
            file = self._folder / "simple_auth_manager_passwords.json.generated"
            file.write_text(json.dumps({name: name for name in self._users}))

    def _begin(self, name: str, *arguments: str) -> None:
        with self._log_of(name).open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - the command given
                [self._airflow, *arguments],
                cwd=self._folder,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._processes[name] = process
        self._sessions.add(process.pid)

    def _migrated(self) -> bool:
        code = self._processes["db migrate"].poll()
        if code == 0:
            self._sessions.discard(self._processes.pop("db migrate").pid)
        return code == 0

    def _healthy(self) -> bool:
        with suppress(AirflowError):
            health = self.ask("monitor/health")
            return all(health[name]["status"] == "healthy" for name in _HEALTH)
        return False

    def _until(self, done: Callable[[], bool], timeout: float, doing: str) -> None:
        timeout *= self._patience
        began = reported = time.monotonic()
        while not done():
            for name, process in self._processes.items():
                if process.poll() is not None:
                    self._give_up(f"{doing}: airflow {name} ended", name)
            now = time.monotonic()
            if now - began > timeout:
                name = next(iter(self._processes))
                self._give_up(f"{doing}: not done in {timeout:.0f} s", name)
            if now - reported > _TELLING:
                reported = now
                self._progress(f"{doing} ({now - began:.0f} s)")
            time.sleep(_POLLING)

    def _give_up(self, why: str, name: str) -> None:
        lines = self._log_of(name).read_text(errors="replace").splitlines()
        tail = "\n".join(lines[-30:])
        raise AirflowError(f"{why}; {self._log_of(name)} says:\n{tail}")

    def _log_of(self, name: str) -> Path:
        return self._folder / f"{name.replace(' ', '-')}.log"

    def _own(self) -> list[psutil.Process]:
        """Return our processes, those included that lost their parents.

        They are known by their environment, or by their session: Airflow's workers write
        their title over the former.  Recorders are left to end by themselves: what they
        upload outlives the task.
        """
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, ProcessLookupError):
                inside = os.getsid(process.pid) in self._sessions
                home = process.environ().get("AIRFLOW_HOME")
                dead = process.status() == psutil.STATUS_ZOMBIE
                recorder = "dask_blackbox.recorder" in process.cmdline()
                ours = inside or home == str(self._folder)
                if ours and not (dead or recorder or process.pid == os.getpid()):
                    found.append(process)
        return found


def _settings(folder: Path, dags: Path, url: str) -> dict[str, str]:
    return {
        "AIRFLOW_HOME": str(folder),
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__API__SECRET_KEY": secrets.token_hex(),
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(),
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{folder}/airflow.db",
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "10",
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(folder / "logs"),
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "30",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
    }


def _login(users: Mapping[str, str]) -> dict[str, str]:
    if not users:
        return {}
    named = ",".join(f"{name}:{role}" for name, role in users.items())
    return {
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": named,
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _without_airflow(environ: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value for name, value in environ.items() if not name.startswith("AIRFLOW")
    }
