"""A real Prefect server for the session, real Dask clusters, and stores in folders."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

# Read when `distributed` and `prefect` are imported.
os.environ.update(
    DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT="300s",
    # One death is enough to give a task up: these tests are about what follows.
    DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0",
    DASK_DISTRIBUTED__LOGGING__DISTRIBUTED="warning",
    PREFECT_SERVER_ANALYTICS_ENABLED="false",
)

import dask
import httpx
import pytest
from conditions import scaled
from dask_blackbox import RunCard
from flow_clusters import close_shared_cluster

_HOSTS_OWN = (
    # Prefect's test harness and its SQLite clean up after the loop they belong to.
    "ignore::ResourceWarning",
    # Clusters of one process after another: the dashboard's port is taken.
    "ignore:Port .* is already in use:UserWarning",
    # websockets, pydantic and starlette, as Prefect 3.8 uses them.
    "ignore::DeprecationWarning:(prefect|websockets|pydantic|starlette|uvicorn|fastapi)",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for text in _HOSTS_OWN:
            item.add_marker(pytest.mark.filterwarnings(text))


@pytest.fixture(scope="session", autouse=True)
def _prefect() -> Iterator[None]:
    from prefect import settings
    from prefect.testing.utilities import prefect_test_harness

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Heartbeats cost every flow run a second; Prefect 3.4 has none.
        heartbeat = getattr(settings, "PREFECT_FLOWS_HEARTBEAT_FREQUENCY", None)
        off: Any = {} if heartbeat is None else {heartbeat: None}
        with _server(prefect_test_harness), settings.temporary_settings(off):
            yield
            close_shared_cluster()


@contextmanager
def _server(harness: Any) -> Iterator[None]:
    """Start a server, on another port where somebody else took the first."""
    with ExitStack() as stack:
        for attempts_left in (2, 1, 0):
            try:
                stack.enter_context(harness(server_startup_timeout=int(scaled(600))))
                break
            except httpx.HTTPError:  # the answer is not Prefect's
                if not attempts_left:
                    raise
        yield


@pytest.fixture(autouse=True)
def store(tmp_path: Path) -> Iterator[Path]:
    """The folder that runs of this test are recorded to."""
    folder = tmp_path / "store"
    with dask.config.set({"blackbox.store.url": str(folder)}):
        yield folder


_WORKER_TIMEOUT = "DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT"
HERE = Path(__file__).parent
GALLERY = HERE.parents[1] / "flows"
AT_ONCE = 2
STALLING = ("stalls", "interrupted_in_a_stall")


def run_story(name: str, folder: Path, api: str) -> Path:
    """Run one flow in a process of its own; return the store that it was recorded to."""
    folder.mkdir()
    script = [str(HERE / "failing_flows.py"), name]
    for scripts in (HERE, GALLERY):
        if (own := scripts / f"{name}.py").is_file():
            script = [str(own)]
    with (folder / "output.txt").open("wb") as output:
        subprocess.run(
            [sys.executable, *script],
            env={
                # As users have it: what Dask waits for a worker is ours to change.
                **{k: v for k, v in os.environ.items() if k != _WORKER_TIMEOUT},
                "PREFECT_API_URL": api,
                "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
                "DASK_BLACKBOX__STORE__URL": str(folder / "store"),
                "FLAG": str(folder / "began"),
                # Elsewhere, what a busy machine is slow at is no stall.
                "DASK_BLACKBOX__STALL__AFTER": "2s" if name in STALLING else "60s",
                "PREFECT_INTEGRATIONS_DASK_BLACKBOX_LONG_TASK": "2",
            },
            check=False,  # most of them fail, each in its own way
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=scaled(600),  # of what hangs: nothing waits for this on any machine
        )
    return folder / "store"


@pytest.fixture(scope="module")
def reported(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Path]]:
    """Run the `FLOWS` of a module, two at a time; return what waits for one of them."""
    from prefect.settings import PREFECT_API_URL

    folder, api = tmp_path_factory.mktemp("runs"), str(PREFECT_API_URL.value())
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs: dict[str, Future[Path]] = {
            name: pool.submit(run_story, name, folder / name, api)
            for name in request.module.FLOWS
        }
        yield lambda name: runs[name].result()


class SeenTask(NamedTuple):
    """A task run as the server has it."""

    state: str
    message: str


class SeenRun(NamedTuple):
    """A flow run as the server has it."""

    id: Any
    state: str
    message: str
    tasks: dict[str, SeenTask]
    artifacts: dict[str, str]
    card: RunCard | None
    retries: int | None
    state_name: str = ""
    all_tasks: tuple[SeenTask, ...] = ()
    names: tuple[str, ...] = ()
    task_pages: dict[str, str] = {}  # noqa: RUF012 - a NamedTuple copies nothing
    ended: Any = None


class Prefect:
    """Asks the session's server."""

    def newest(self, flow_name: str, store: Path) -> SeenRun:
        """Return the newest run of a flow, with its task runs by name (no suffix)."""
        from prefect.client.orchestration import get_client
        from prefect.client.schemas.filters import FlowFilter
        from prefect.client.schemas.sorting import FlowRunSort

        with get_client(sync_client=True) as client:
            wanted = FlowFilter.model_validate({"name": {"any_": [flow_name]}})
            run = client.read_flow_runs(
                flow_filter=wanted, sort=FlowRunSort.START_TIME_DESC, limit=1
            )[0]
            return SeenRun(
                id=run.id,
                state=run.state_type.value if run.state_type else "",
                message=(run.state and run.state.message) or "",
                tasks=_tasks_of(client, run.id),
                artifacts=_artifacts_of(client, run.id),
                card=_card_in(store, str(run.id)),
                retries=run.empirical_policy.retries,
                state_name=run.state_name or "",
                all_tasks=_all_tasks_of(client, run.id),
                names=tuple(each.name for each in _runs_of(client, run.id)),
                task_pages=_task_pages_of(client, run.id),
                ended=run.state and run.state.timestamp,
            )

    def newest_id(self, flow_name: str) -> Any:
        """Return the id of the newest run of a flow."""
        from prefect.client.orchestration import get_client
        from prefect.client.schemas.filters import FlowFilter
        from prefect.client.schemas.sorting import FlowRunSort

        with get_client(sync_client=True) as client:
            wanted = FlowFilter.model_validate({"name": {"any_": [flow_name]}})
            newest = FlowRunSort.START_TIME_DESC
            [run] = client.read_flow_runs(flow_filter=wanted, sort=newest, limit=1)
        return run.id

    def attempts(self, flow_name: str) -> dict[int, tuple[str, str]]:
        """Return id and Markdown of the card of each attempt of a flow's newest run."""
        return self.attempts_of(self.newest_id(flow_name))

    def attempts_of(self, flow_run_id: Any) -> dict[int, tuple[str, str]]:
        """Return id and Markdown of the card of each attempt of a flow run."""
        from prefect.client.orchestration import get_client
        from prefect.client.schemas.filters import ArtifactFilter

        with get_client(sync_client=True) as client:
            own = {"flow_run_id": {"any_": [flow_run_id]}}
            mine = ArtifactFilter.model_validate(own)
            found = client.read_artifacts(artifact_filter=mine)
        cards = [each for each in found if each.key]
        return {
            int((each.metadata_ or {})["attempt"]): (str(each.id), str(each.data))
            for each in cards
        }

    def descriptions(self, flow_run_id: Any) -> list[str]:
        """Return the lines below the titles of a flow run's artifacts."""
        from prefect.client.orchestration import get_client
        from prefect.client.schemas.filters import ArtifactFilter

        mine = ArtifactFilter.model_validate({"flow_run_id": {"any_": [flow_run_id]}})
        with get_client(sync_client=True) as client:
            found = client.read_artifacts(artifact_filter=mine)
        return [str(each.description) for each in found]

    def cards(self, job: str, store: Path) -> list[RunCard]:
        """Return the cards of all runs of a job that were recorded."""
        cards = sorted(store.glob(f"runs/job={job}/*/*/card.json"))
        return [RunCard.from_json(each.read_bytes()) for each in cards]

    def logs(self, flow_run_id: Any) -> list[Any]:
        """Return the log of a flow run and of its task runs."""
        from prefect.client.orchestration import get_client
        from prefect.client.schemas.filters import LogFilter

        mine = LogFilter.model_validate({"flow_run_id": {"any_": [flow_run_id]}})
        with get_client(sync_client=True) as client:
            return list(client.read_logs(mine, limit=200))

    def tags(self, flow_run_id: Any) -> list[str]:
        """Return the tags of a flow run."""
        from prefect.client.orchestration import get_client

        with get_client(sync_client=True) as client:
            return list(client.read_flow_run(flow_run_id).tags)

    def events(self, kind: str, flow_run_id: Any) -> list[str]:
        """Return the causes that events of a kind name, of those related to a run."""
        return self.labels(kind, "dask.cause", flow_run_id)

    def labels(self, kind: str, label: str, flow_run_id: Any) -> list[str]:
        """Return a label of events of a kind, of those related to a run."""
        found = self._events(kind, flow_run_id)
        return [each["resource"].get(label, "") for each in found]

    def payloads(self, kind: str, flow_run_id: Any) -> list[dict[str, Any]]:
        """Return what events of a kind say to people, of those related to a run."""
        return [each["payload"] for each in self._events(kind, flow_run_id)]

    def page(self, key: str) -> str:
        """Return the Markdown of the one artifact with a key."""
        from prefect.client.orchestration import get_client
        from prefect.client.schemas.filters import ArtifactFilter

        own = ArtifactFilter.model_validate({"key": {"any_": [key]}})
        with get_client(sync_client=True) as client:
            [found] = client.read_artifacts(artifact_filter=own)
        return str(found.data)

    def moments(self, kind: str, flow_run_id: Any) -> list[datetime]:
        """Return when events of a kind occurred, of those related to a run."""
        found = self._events(kind, flow_run_id)
        return [datetime.fromisoformat(each["occurred"]) for each in found]

    def related(self, kind: str, flow_run_id: Any) -> dict[str, list[str]]:
        """Return the ids of what the events of a kind are related to, by role."""
        found: dict[str, list[str]] = {}
        for event in self._events(kind, flow_run_id):
            for each in event["related"]:
                identity = each["prefect.resource.id"].rpartition(".")[2]
                found.setdefault(each["prefect.resource.role"], []).append(identity)
        return found

    def _events(self, kind: str, flow_run_id: Any) -> list[dict[str, Any]]:
        from prefect.client.orchestration import get_client

        related = {"id": [f"prefect.flow-run.{flow_run_id}"]}
        wanted = {"filter": {"event": {"name": [kind]}, "related": related}}
        deadline = time.monotonic() + scaled(30)
        found: list[Any] = []
        with get_client(sync_client=True) as client:
            while not found:  # the server writes them a moment later
                answer = client.request("POST", "/events/filter", json=wanted)
                found = answer.json()["events"]

                assert time.monotonic() < deadline, "no event came"

                time.sleep(0.2)
        return found


def _runs_of(client: Any, flow_run_id: Any) -> list[Any]:
    from prefect.client.schemas.filters import FlowRunFilter

    mine = FlowRunFilter.model_validate({"id": {"any_": [flow_run_id]}})
    return list(client.read_task_runs(flow_run_filter=mine))


def _tasks_of(client: Any, flow_run_id: Any) -> dict[str, SeenTask]:
    return {
        run.name.rpartition("-")[0]: SeenTask(
            run.state_type.value, run.state.message or ""
        )
        for run in _runs_of(client, flow_run_id)
    }


def _all_tasks_of(client: Any, flow_run_id: Any) -> tuple[SeenTask, ...]:
    return tuple(
        SeenTask(run.state_type.value, run.state.message or "")
        for run in _runs_of(client, flow_run_id)
    )


def _task_pages_of(client: Any, flow_run_id: Any) -> dict[str, str]:
    from prefect.client.schemas.filters import ArtifactFilter, FlowRunFilter

    mine = FlowRunFilter.model_validate({"id": {"any_": [flow_run_id]}})
    runs = client.read_task_runs(flow_run_filter=mine)
    ids = {run.id: run.name.rpartition("-")[0] for run in runs}
    wanted = ArtifactFilter.model_validate({"task_run_id": {"any_": list(ids)}})
    found = client.read_artifacts(artifact_filter=wanted) if ids else []
    return {ids[each.task_run_id]: str(each.data) for each in found if each.key}


def _artifacts_of(client: Any, flow_run_id: Any) -> dict[str, str]:
    from prefect.client.schemas.filters import ArtifactFilter

    mine = ArtifactFilter.model_validate({"flow_run_id": {"any_": [flow_run_id]}})
    found = [a for a in client.read_artifacts(artifact_filter=mine) if a.key]
    keys = [each.key for each in found]
    assert len(keys) == len(set(keys)), f"artifacts made twice: {keys}"
    return {each.key: str(each.data) for each in found}


def _card_in(store: Path, run_id: str) -> RunCard | None:
    cards = sorted(store.glob(f"runs/*/run={run_id}/*/card.json"))
    return RunCard.from_json(cards[-1].read_bytes()) if cards else None


@pytest.fixture
def prefect() -> Prefect:
    """The session's Prefect server, to ask what became of a run."""
    logging.getLogger("prefect").setLevel(logging.INFO)
    return Prefect()
