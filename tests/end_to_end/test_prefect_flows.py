"""The demo's flows against a real Prefect server and a bucket, seen in a browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from conditions import LOAD_FACTOR, scaled
from demo_modules import demo_module
from http_receiver import Receiver, receiver

pytest.importorskip("prefect_dask_blackbox")

import prefect
from dask_blackbox.testing import EmbeddedS3, embedded_s3

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "flows"
AUTOMATIONS = ROOT / "prefect_collection" / "automations.yaml"
CHROMIUM = "/usr/bin/chromium"
HAS_V2 = (Path(prefect.__file__).parent / "server" / "ui-v2").is_dir()
"""Whether this Prefect has its second UI: 3.4 has only the first one."""
NO_INVITATION = "localStorage.setItem('join-the-community-modal-dismissed', 'true')"
"""The first UI covers each page with an invitation until somebody closes it, up to 3.4."""


@pytest.fixture(scope="module")
def s3() -> Iterator[EmbeddedS3]:
    """A bucket."""
    with embedded_s3() as server:
        yield server


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory, s3: EmbeddedS3) -> Iterator[Any]:
    """A Prefect server whose flows are recorded in the bucket."""
    folder = tmp_path_factory.mktemp("prefect")
    with demo_module("prefect_host").PrefectHost(folder, patience=LOAD_FACTOR) as host:
        data = tmp_path_factory.mktemp("orders")
        demo_module("data").make_orders(data)
        host.environ.update(
            s3.environment,
            DEMO_DATA=str(data),
            DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT="300s",
        )
        yield host


@pytest.fixture(scope="module")
def failed(host: Any) -> Any:
    """The flow run that ran out of memory."""
    return host.run_flow(ROOT / "flows" / "out_of_memory.py")


def _soon(what: Callable[[], Any], *, within: float = 120) -> Any:
    deadline = time.monotonic() + scaled(within)
    while not (found := what()):
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.2)
    return found


def test_the_etl_ends_green_with_links_that_open(host: Any) -> None:
    run = host.run_flow(ROOT / "flows" / "recorded_etl.py")

    artifacts = host.artifacts(run.id)
    assert run.state == "COMPLETED", run.output
    assert "Succeeded" in artifacts["dask-run-recorded-etl"]
    links = dict(
        re.findall(r"\[([^]]+)\]\(<([^>]+)>\)", artifacts["dask-run-recorded-etl"])
    )
    for name in ("Report", "Dask's performance report"):
        address = links[name]
        with urllib.request.urlopen(address, timeout=scaled(30)) as page:
            assert page.headers["Content-Type"].startswith("text/html")
            assert b"<html" in page.read(2000).lower()


def test_a_task_that_runs_out_of_memory_is_explained(host: Any, failed: Any) -> None:
    states = {
        run["name"].rpartition("-")[0]: (run["state_type"], run["state"]["message"])
        for run in host.task_runs(failed.id)
    }
    card = host.artifacts(failed.id)["dask-run-out-of-memory"]

    assert failed.state == "FAILED", failed.output
    assert "1 task run was lost ('bought_together-" in failed.message
    assert "1 task run never ran ('best_pair-" in failed.message
    assert states["count_lines"][0] == "COMPLETED"
    assert states["bought_together"][0] == "CRASHED"
    assert states["best_pair"][0] == "CRASHED"
    assert "memory" in states["bought_together"][1]
    assert "`worker-memory-limit`" in card
    assert "bought" in card


def test_the_flow_runs_page_shows_the_card(
    host: Any, failed: Any, tmp_path: Path
) -> None:
    api = pytest.importorskip("playwright.sync_api")
    if not Path(CHROMIUM).exists():
        pytest.skip(f"no browser at {CHROMIUM}")
    folder = Path(os.environ.get("SCREENSHOTS", tmp_path))
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.add_init_script(NO_INVITATION)
        page.set_default_timeout(60_000)
        ui = "/v2" if HAS_V2 else ""
        page.goto(f"{host.url}{ui}/runs/flow-run/{failed.id}")
        tab = page.get_by_text("Artifacts", exact=True).locator("visible=true")
        tab.last.click()  # v1 reads no tab from the address
        card = page.get_by_text("dask-run-out-of-memory").locator("visible=true").first
        card.wait_for()
        page.screenshot(path=folder / "prefect-artifacts.png", full_page=True)
        card.click()
        # Up to 3.8, the page of its key comes first; later, this is the tab that is open.
        page.locator("a[href*='/artifacts/artifact/']").first.click()
        page.get_by_text("What to do:").first.wait_for()
        page.screenshot(path=folder / "prefect-card.png", full_page=True)
        report = page.get_by_role("link", name="Report", exact=True).first
        assert report.get_attribute("href", timeout=10_000).startswith("http")
        browser.close()


SERVED = """
import os, time
from pathlib import Path
import dask
from prefect import task
from prefect_dask import DaskTaskRunner
from prefect_dask_blackbox import observed_flow

@task
def dawdle(flag: str) -> None:
    Path(flag).touch()
    time.sleep(600)

@observed_flow(name="killed", task_runner=DaskTaskRunner(
    cluster_kwargs={"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}))
def killed(folder: str, needs: dict = {}) -> None:
    Path(folder, "pid").write_text(str(os.getpid()))
    with dask.annotate(resources=needs):
        futures = [dawdle.submit(str(Path(folder, "began"))) for _ in range(3)]
    futures[0].wait()

if __name__ == "__main__":
    killed.serve(name="nightly")
"""

GREEDY = """
from prefect import task
from prefect_dask.task_runners import DaskTaskRunner
from prefect_dask_blackbox import observed_flow

@task
def grow():
    pieces = []
    while True:
        pieces.append(b"x" * 2**24)

@observed_flow(task_runner=DaskTaskRunner(cluster_kwargs={
    "n_workers": 1, "threads_per_worker": 1, "memory_limit": "400 MiB"}))
def greedy(memory: str = "400 MiB"):
    return grow.submit().result()

if __name__ == "__main__":
    greedy.serve(name="greedy")
"""
"""A flow that needs more memory than any worker has, whatever it is given."""

PACK = """
from prefect import serve, task
from prefect_dask.task_runners import DaskTaskRunner
from prefect_dask_blackbox import observed_flow

RUNNER = DaskTaskRunner(cluster_kwargs={
    "n_workers": 1, "processes": False, "dashboard_address": None})

@task
def load(day: str):
    if day != "good":
        raise LookupError(f"no orders for {day}")

@observed_flow(name="orders", task_runner=RUNNER)
def orders(day: str = "good"):
    load.submit(day).result()

@observed_flow(name="prices", task_runner=RUNNER)
def prices():
    load.submit("good").result()

@observed_flow(name="stock", task_runner=RUNNER)
def stock():
    load.submit("good").result()

if __name__ == "__main__":
    serve(*[flow.to_deployment(name=f"{flow.name}-nightly")
            for flow in (prices, stock, orders)])
"""
"""Three deployments, of which one can fail."""

SCRIPTS = {"nightly": SERVED, "greedy": GREEDY, "orders-nightly": PACK}
"""Scripts that serve a deployment, by its name."""


@contextmanager
def served_script(
    host: Any, folder: Path, name: str, environ: dict[str, str]
) -> Iterator[str]:
    """Serve a flow from a process of ours; yield the id of its deployment."""
    script = folder / "served.py"
    script.write_text(textwrap.dedent(SCRIPTS[name]))
    with (folder / "served.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, str(script)],
            cwd=folder,  # Prefect 3.4 serves only what is below its working directory
            env={**host.environ, "PREFECT_RUNNER_POLL_FREQUENCY": "1", **environ},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    by_name = {"deployments": {"name": {"any_": [name]}}}
    try:
        yield _soon(lambda: host.ask("deployments/filter", by_name))[0]["id"]
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(30)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def served(request: pytest.FixtureRequest, host: Any, tmp_path: Path) -> Iterator[str]:
    """The id of a deployment that a process of ours serves."""
    # What a busy machine is slow at is no stall, but where the test is about stalls.
    stalled = getattr(request, "param", "60s")
    environ = {"DASK_BLACKBOX__STALL__AFTER": stalled}
    with served_script(host, tmp_path, "nightly", environ) as deployment:
        yield deployment


def _at_work(host: Any, run_id: str, folder: Path) -> None:
    """Wait until a task of a served flow runs, and the recorder knows of all three."""
    _soon((folder / "began").exists)
    _soon(lambda: "0 of 3 " in host.artifacts(run_id).get("dask-run-killed", ""))


def test_a_flow_process_that_is_killed_has_a_card_all_the_same(
    host: Any, served: str, tmp_path: Path
) -> None:
    asked = {"parameters": {"folder": str(tmp_path)}}
    run_id = host.ask(f"deployments/{served}/create_flow_run", asked)["id"]
    _at_work(host, run_id, tmp_path)

    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)

    card = _soon(
        lambda: next(
            (
                data
                for key, data in host.artifacts(run_id).items()
                if key == "dask-run-killed" and "`driver-killed`" in data
            ),
            None,
        )
    )
    assert "SIGKILL" in card
    assert host.flow_run(run_id).state == "CRASHED"
    _soon(lambda: {run["state_type"] for run in host.task_runs(run_id)} == {"CRASHED"})
    assert _related(host, run_id)["deployment"] == {f"prefect.deployment.{served}"}
    # Three: it waited for one of them.
    assert len(_related(host, run_id)["task-run"]) == 3


def _related(host: Any, run_id: str) -> dict[str, set[str]]:
    """Return the resources by role that a flow run's verdict is related to."""
    wanted = {
        "event": {"name": ["dask.run.diagnosed"]},
        "related": {"id": [f"prefect.flow-run.{run_id}"]},
    }
    [event] = _soon(lambda: host.ask("events/filter", {"filter": wanted})["events"])
    found: dict[str, set[str]] = {}
    for each in event["related"]:
        role = each["prefect.resource.role"]
        found.setdefault(role, set()).add(each["prefect.resource.id"])
    return found


@pytest.mark.parametrize("ui", ["", "/v2"], ids=["v1", "v2"])
def test_a_flow_run_that_somebody_cancels_in_the_browser_reports_it(
    host: Any, served: str, tmp_path: Path, ui: str
) -> None:
    api = pytest.importorskip("playwright.sync_api")
    if not Path(CHROMIUM).exists():
        pytest.skip(f"no browser at {CHROMIUM}")
    if ui and not HAS_V2:
        pytest.skip("this Prefect has no such UI")
    asked = {"parameters": {"folder": str(tmp_path)}}
    run_id = host.ask(f"deployments/{served}/create_flow_run", asked)["id"]
    _at_work(host, run_id, tmp_path)

    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.add_init_script(NO_INVITATION)
        address = f"{host.url}{ui}/runs/flow-run/{run_id}"
        _cancel(page, address)
        _soon(lambda: host.flow_run(run_id).state == "CANCELLED")
        page.goto(address)
        page.get_by_text("Cancelled").first.wait_for()
        folder = Path(os.environ.get("SCREENSHOTS", tmp_path))
        page.screenshot(path=folder / f"prefect-cancelled{ui.replace('/', '-')}.png")
        browser.close()

    _soon(
        lambda: {run["state_type"] for run in host.task_runs(run_id)} == {"CANCELLED"}
    )
    card = _soon(lambda: host.artifacts(run_id)["dask-run-killed"])
    assert "Prefect stopped this flow run" in card
    assert "0 of 3 tasks were done" in card
    assert _related(host, run_id)["deployment"] == {f"prefect.deployment.{served}"}


def _cancel(page: Any, address: str) -> None:
    """Cancel a flow run as a person does, in either UI."""
    page.set_default_timeout(60_000)
    page.goto(address)
    if "/v2/" in address:
        page.locator("button[aria-haspopup=menu]").last.click()
        page.get_by_role("menuitem", name="Cancel").click()
        page.get_by_role("button", name="Cancel Flow Run").click()
    else:
        page.get_by_role("button", name="Cancel", exact=True).click()
        page.get_by_role("button", name="Confirm").click()
    page.get_by_text("Cancelling").first.wait_for()


CREATE_AUTOMATION = """
import sys, yaml
from prefect.automations import Automation
found = yaml.safe_load(open(sys.argv[1]))
for each in found.get("automations", [found]):
    Automation.model_validate(each).create()
"""


def _create_automation(host: Any, file: Path) -> None:
    """Create an automation by Prefect's command; in Python, where Prefect lacks it (3.4.7)."""
    command = [sys.executable, "-m", "prefect", "automation", "create"]
    asked = subprocess.run(
        [*command, "--help"], env=host.environ, check=False, capture_output=True
    )
    if asked.returncode:
        command = [sys.executable, "-c", CREATE_AUTOMATION, str(file)]
    else:
        command += ["--from-file", str(file)]
    subprocess.run(
        command, env=host.environ, check=True, capture_output=True, timeout=scaled(120)
    )


@contextmanager
def automation(
    host: Any, name: str, folder: Path, **changes: Any
) -> Iterator[dict[str, Any]]:
    """Create one of the automations that the guide offers, as it says."""
    import yaml

    found = yaml.safe_load(AUTOMATIONS.read_text())["automations"]
    wanted = next(each for each in found if each["name"] == name)
    wanted["trigger"] |= changes.get("trigger", {})
    wanted["actions"][0] |= changes.get("action", {})
    file = folder / "automation.yaml"
    file.write_text(yaml.safe_dump(wanted))
    _create_automation(host, file)
    made = next(
        each for each in host.ask("automations/filter", {}) if each["name"] == name
    )
    try:
        yield made
    finally:
        _soon(lambda: _deleted(host, "automations", made["id"]))


def _deleted(host: Any, kind: str, identity: str) -> bool:
    """Delete something on the server; return whether it is gone."""
    address = f"{host.url}/api/{kind}/{identity}"
    request = urllib.request.Request(address, method="DELETE")
    try:
        urllib.request.urlopen(request, timeout=scaled(30)).close()
    except urllib.error.HTTPError as error:
        if error.code == HTTPStatus.SERVICE_UNAVAILABLE:  # its database was locked
            return False
        raise
    return True


SAVE_BLOCK = """
import json, sys
from prefect_dask_blackbox import BlackboxStore
BlackboxStore(**json.loads(sys.argv[1])).save("prod")
"""


@pytest.fixture
def deployed(host: Any, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """The deployments of `flows/prefect.yaml`, by name, in work pools of both kinds."""
    folder = tmp_path / "flows"
    shutil.copytree(GALLERY, folder)
    pools = {"process": "processes", "kubernetes": "cluster"}
    for kind, name in pools.items():
        _prefect(host, "work-pool", "create", "--type", kind, name)
    _prefect(host, "--no-prompt", "deploy", "--all", cwd=folder)
    found = {each["name"]: each for each in host.ask("deployments/filter", {})}
    yield found
    for each in found.values():
        _soon(partial(_deleted, host, "deployments", each["id"]))
    for name in pools.values():
        _soon(partial(_deleted, host, "work_pools", name))


def _prefect(host: Any, *words: str, cwd: Path | None = None) -> None:
    """Run a command of Prefect's."""
    done = subprocess.run(
        [sys.executable, "-m", "prefect", *words],
        cwd=cwd,
        env=host.environ,
        check=False,
        capture_output=True,
        text=True,
        timeout=scaled(300),
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.timeout(900)
def test_a_deployment_of_the_gallery_is_recorded_by_its_environment(
    host: Any, deployed: dict[str, Any], s3: EmbeddedS3
) -> None:
    place = json.dumps({"url": f"{s3.url}/deployed", **s3.settings})
    save = [sys.executable, "-c", SAVE_BLOCK, place]
    subprocess.run(save, env=host.environ, check=True, timeout=scaled(120))
    nightly = deployed["nightly"]["id"]
    run_id = host.ask(f"deployments/{nightly}/create_flow_run", {})["id"]

    _prefect(host, "worker", "start", "--pool", "processes", "--run-once")

    assert host.flow_run(run_id).state == "COMPLETED"
    card = host.artifacts(run_id)["dask-run-recorded-etl"]
    assert "[Report](<https://dask.example.org/" in card
    assert f"{s3.url}/deployed/" in card


def test_a_job_on_kubernetes_has_the_image_and_the_environment(
    host: Any, deployed: dict[str, Any]
) -> None:
    from prefect.utilities.templating import apply_values

    pool = host.ask("work_pools/cluster")["base_job_template"]
    known = pool["variables"]["properties"]
    given = deployed["nightly-on-kubernetes"]["job_variables"]
    usual = {name: each["default"] for name, each in known.items() if "default" in each}

    job = apply_values(pool["job_configuration"], {**usual, **given})

    [container] = job["job_manifest"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example.org/etl:2026.11"
    assert job["env"]["PREFECT_INTEGRATIONS_DASK_BLACKBOX_STORE"] == "block:prod"
    assert set(given) <= set(known)


@pytest.mark.parametrize("served", ["3s"], indirect=True)
def test_what_stalls_is_cancelled_by_the_automation_and_reports_it(
    host: Any, served: str, tmp_path: Path
) -> None:
    sooner = {"within": 10}  # Prefect takes no less
    with automation(host, "Dask: cancel what stalls", tmp_path, trigger=sooner):
        asked = {"parameters": {"folder": str(tmp_path), "needs": {"GPU": 1}}}
        run_id = host.ask(f"deployments/{served}/create_flow_run", asked)["id"]

        _soon(lambda: host.flow_run(run_id).state == "CANCELLED")

    # No worker could run one of them.
    _soon(
        lambda: (
            [run["state_type"] for run in host.task_runs(run_id)] == ["CANCELLED"] * 3
        )
    )
    who = "Cancelled by the automation 'Dask: cancel what stalls'."
    card = host.artifacts(run_id)["dask-run-killed"]
    assert {run["state"]["message"] for run in host.task_runs(run_id)} == {who}
    assert "Prefect stopped this flow run" in card
    assert "`stopped-by-host`" in card
    assert who in card


def test_only_what_has_stalled_for_the_whole_time_is_cancelled(
    host: Any, tmp_path: Path
) -> None:
    flow_id = host.ask("flows/", {"name": "slow-to-start"})["id"]
    running = {"flow_id": flow_id, "state": {"type": "RUNNING", "name": "Running"}}
    over, again, at_work, stalled = (
        host.ask("flow_runs/", running)["id"] for _ in range(4)
    )
    sooner = {"within": int(scaled(20))}

    with automation(host, "Dask: cancel what stalls", tmp_path, trigger=sooner):
        # Not before: creating an automation can take longer than a stall may.
        first = [_stall(over), _stall(again)]
        _send(host, _stall(at_work, kind="running"), *first)
        # A flow run checks every five seconds whether its stall is over.  Prefect may set an
        # event aside for 15 minutes that it gets while it handles the one that it follows.
        _soon(lambda: {each["id"] for each in first} <= _stored(host))
        _send(host, *map(_end_of, first))
        _send(host, _stall(again, number=2), _stall(stalled))
        # Those before them had their time by then.
        _soon(lambda: host.flow_run(stalled).state == "CANCELLING")
        _soon(lambda: host.flow_run(again).state == "CANCELLING")

    assert host.flow_run(over).state == "RUNNING"
    assert host.flow_run(at_work).state == "RUNNING"


def _stored(host: Any) -> set[str]:
    """Return the ids of the stalls that the server has stored."""
    wanted = {"filter": {"event": {"name": ["dask.run.stalled"]}}}
    return {each["id"] for each in host.ask("events/filter", wanted)["events"]}


def _stall(run_id: str, kind: str = "no-workers", number: int = 1) -> dict[str, Any]:
    """Return an event as flow runs emit it when they stall."""
    related = {
        "prefect.resource.id": f"prefect.flow-run.{run_id}",
        "prefect.resource.role": "flow-run",
    }
    return {
        "event": "dask.run.stalled",
        "resource": {
            "prefect.resource.id": f"dask.run.{run_id}.1",
            "dask.stall": kind,
            "dask.stall_number": str(number),
        },
        "related": [related],
        "id": str(uuid.uuid4()),
        "occurred": datetime.now(UTC).isoformat(),
    }


def _end_of(stall: dict[str, Any]) -> dict[str, Any]:
    """Return the event that follows when a stall is over."""
    return {
        **stall,
        "event": "dask.run.stall-over",
        "id": str(uuid.uuid4()),
        "follows": stall["id"],
        "occurred": datetime.now(UTC).isoformat(),
    }


@pytest.mark.timeout(900)
def test_a_run_without_memory_is_rerun_once_with_what_its_verdict_asks_for(
    host: Any, tmp_path: Path
) -> None:
    environ = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    with served_script(host, tmp_path, "greedy", environ) as deployment:
        mine = {"deployments": {"id": {"any_": [deployment]}}}
        resource = f"prefect.deployment.{deployment}"
        only = {
            "prefect.resource.role": ["deployment"],
            "prefect.resource.id": [resource],
        }
        name = "Dask: run again with more memory"

        def runs(number: int) -> list[dict[str, Any]]:
            found = host.ask("flow_runs/filter", mine | {"sort": "START_TIME_ASC"})
            over = [
                each for each in found if each["state_type"] in ("FAILED", "CRASHED")
            ]
            return over if len(over) >= number else []

        def memories(last: str) -> list[str]:
            found = host.ask("flow_runs/filter", mine)
            given = sorted(each["parameters"].get("memory", "") for each in found)
            return given if last in given else []

        with automation(host, name, tmp_path, trigger={"match_related": only}):
            host.ask(f"deployments/{deployment}/create_flow_run", {})
            first, second = _soon(lambda: runs(2), within=600)
            diagnosed = _soon(lambda: _diagnosed(host, second["id"]))
            # Events are handled in order: what the second run's led to was started before.
            _send(host, _diagnosis(str(uuid.uuid4()), memory="2 GiB"))
            _send(host, _diagnosis(deployment, memory="3 GiB"))
            given = _soon(lambda: memories("3 GiB"))

    labels = _diagnosed(host, first["id"])
    assert labels["dask.by_automation"] == "false"
    assert diagnosed["dask.by_automation"] == "true"
    assert second["parameters"] == {"memory": labels["dask.memory_needed"]}
    asked = labels["dask.memory_needed"]
    assert given == sorted([first["parameters"].get("memory", ""), asked, "3 GiB"])


def _diagnosed(host: Any, run_id: str) -> dict[str, str]:
    """Return the labels of a run's event `dask.run.diagnosed`; empty: there is none yet."""
    wanted = {"name": ["dask.run.diagnosed"]}
    found = host.ask("events/filter", {"filter": {"event": wanted}})["events"]
    own = f"dask.run.{run_id}.1"
    resources: list[dict[str, str]] = [each["resource"] for each in found]
    return next((r for r in resources if r["prefect.resource.id"] == own), {})


def _diagnosis(deployment: str, *, memory: str) -> dict[str, Any]:
    """Return an event as a run of a deployment emits it that lacked memory."""
    return {
        "event": "dask.run.diagnosed",
        "resource": {
            "prefect.resource.id": f"dask.run.{uuid.uuid4()}.1",
            "dask.cause": "worker-memory-limit",
            "dask.memory_needed": memory,
            "dask.by_automation": "false",
        },
        "related": [
            {
                "prefect.resource.id": f"prefect.deployment.{deployment}",
                "prefect.resource.role": "deployment",
            }
        ],
        "id": str(uuid.uuid4()),
        "occurred": datetime.now(UTC).isoformat(),
    }


BLOCKS = """
import sys
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.blocks.webhook import Webhook
alerts = CustomWebhookNotificationBlock(
    name="alerts", url=f"{sys.argv[1]}/alerts", json_data={"text": "{{subject}}\\n{{body}}"})
tickets = Webhook(url=f"{sys.argv[1]}/tickets")
print(alerts.save("alerts", overwrite=True), tickets.save("tickets", overwrite=True))
"""


def posted(to: Receiver, path: str) -> list[Any]:
    """Return what automations sent to a path, in its order."""
    return [each.json() for each in to.posts if each.path == path]


@pytest.mark.timeout(1200)
def test_the_pack_acts_on_nothing_unchanged_and_with_ids_on_the_failing_deployment_only(
    host: Any, tmp_path: Path
) -> None:
    with (
        receiver() as webhooks,
        served_script(host, tmp_path, "orders-nightly", {}) as failing,
        deleted_afterwards(host, "automations"),
    ):
        everything = {each["name"]: each for each in host.ask("deployments/filter", {})}
        others = [everything[f"{name}-nightly"]["id"] for name in ("prices", "stock")]

        def failed(day: str, times: int) -> list[dict[str, str]]:
            run_ids = []
            for _ in range(times):  # one after the other: each is the last one's next
                asked = {"parameters": {"day": day}}
                made = host.ask(f"deployments/{failing}/create_flow_run", asked)
                run_ids.append(made["id"])
                _soon(partial(_diagnosed, host, made["id"]), within=300)
            return [_diagnosed(host, each) for each in run_ids]

        _create_automation(host, AUTOMATIONS)
        fine = [
            host.ask(f"deployments/{each}/create_flow_run", {})["id"] for each in others
        ]
        first = failed("Monday", 3)
        _send(host, _diagnosis(failing, memory="3 GiB"))
        for run_id in fine:
            _soon(partial(_completed, host, run_id))

        save = [sys.executable, "-c", BLOCKS, webhooks.url]
        ids = subprocess.run(
            save, env=host.environ, check=True, capture_output=True, text=True
        ).stdout.split()
        file = tmp_path / "with_ids.yaml"
        _write_with_ids(file, failing, *ids)
        _create_automation(host, file)
        before = _paused(host, failing)
        second = failed("Tuesday", 3)
        _soon(lambda: _paused(host, failing))
        _soon(lambda: len(posted(webhooks, "/alerts")) == len(second))
        _soon(lambda: posted(webhooks, "/tickets"))
        # Now: `serve` pauses its deployments when it stops.
        paused = [each for each in others if _paused(host, each)]
        runs = host.ask(
            "flow_runs/filter", {"deployments": {"id": {"any_": [failing, *others]}}}
        )

    assert [each["dask.failures_in_a_row"] for each in [*first, *second]] == [
        "1",
        "2",
        "3",
    ] * 2
    assert not before
    assert not paused
    # Nobody ran anything again.
    assert len(runs) == len([*first, *second, *fine])
    [ticket] = posted(webhooks, "/tickets")
    alert = posted(webhooks, "/alerts")[0]["text"]
    assert ticket["title"] == "LookupError in 'load': no orders for Tuesday"
    assert ticket["fingerprint"] == second[0]["dask.fingerprint"]
    subject, cause, *_ = alert.splitlines()
    assert subject == f"orders Failed: {ticket['title']}"
    assert "LookupError: no orders for Tuesday" in cause
    assert "\nWhat to do: " in alert
    assert "\nChanged since the last good run: " in alert
    for sent in (ticket["url"], alert.splitlines()[-1]):
        assert sent.startswith(f"{host.url}/artifacts/artifact/")


def _write_with_ids(file: Path, deployment: str, alerts: str, tickets: str) -> None:
    """Write the automations of the pack that need ids, with those of a deployment and blocks."""
    import yaml

    pack = yaml.safe_load(AUTOMATIONS.read_text())["automations"]
    mine = [each for each in pack if each["trigger"]["posture"] == "Reactive"]
    for each in mine:
        each["name"] += " (with ids)"
        each["enabled"] = True
        if "match_related" in each["trigger"]:
            resource = f"prefect.deployment.{deployment}"
            each["trigger"]["match_related"]["prefect.resource.id"] = [resource]
        else:
            called = each["actions"][0]["type"] == "call-webhook"
            each["actions"][0]["block_document_id"] = tickets if called else alerts
    file.write_text(yaml.safe_dump({"automations": mine}))


@contextmanager
def deleted_afterwards(host: Any, kind: str) -> Iterator[None]:
    """Delete what was made meanwhile."""
    before = {each["id"] for each in host.ask(f"{kind}/filter", {})}
    try:
        yield
    finally:
        for each in host.ask(f"{kind}/filter", {}):
            if each["id"] not in before:
                _soon(partial(_deleted, host, kind, each["id"]))


def _completed(host: Any, run_id: str) -> bool:
    return bool(host.flow_run(run_id).state == "COMPLETED")


def _paused(host: Any, deployment: str) -> bool:
    return bool(host.ask(f"deployments/{deployment}")["paused"])


def test_a_zombie_is_set_to_crashed(host: Any, tmp_path: Path) -> None:
    flow_id = host.ask("flows/", {"name": "zombie"})["id"]
    running = {"flow_id": flow_id, "state": {"type": "RUNNING", "name": "Running"}}
    run_id = host.ask("flow_runs/", running)["id"]
    resource = {"prefect.resource.id": f"prefect.flow-run.{run_id}"}
    heartbeat = {
        "event": "prefect.flow-run.heartbeat",
        "resource": resource,
        "id": str(uuid.uuid4()),
        "occurred": datetime.now(UTC).isoformat(),
    }

    with automation(host, "Dask: crash zombies", tmp_path, trigger={"within": 10}):
        _send(host, heartbeat)
        _soon(lambda: host.flow_run(run_id).state == "CRASHED")

    assert "Its heartbeats have stopped" in host.flow_run(run_id).message


def _send(host: Any, *events: dict[str, Any]) -> None:
    request = urllib.request.Request(
        f"{host.url}/api/events",
        data=json.dumps(events).encode(),
        headers={"Content-Type": "application/json"},
    )
    urllib.request.urlopen(request, timeout=scaled(30)).close()
