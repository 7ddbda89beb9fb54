"""Flow runs on real clusters, and what Prefect shows of them afterwards."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import cloudpickle
import dask
import pytest
from conditions import scaled
from dask_blackbox import RunCard
from dask_blackbox.errors import RunNotFoundError
from distributed import KilledWorker
from flow_clusters import shared_runner
from prefect import flow, task
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import TaskRunFilter
from prefect.client.schemas.objects import State
from prefect.settings import get_current_settings
from prefect_dask.task_runners import DaskTaskRunner
from prefect_dask.utils import get_dask_client
from prefect_dask_blackbox import (
    BlackboxTaskRunner,
    LostTasksError,
    card_of_flow_run,
    observed_flow,
)
from prefect_dask_blackbox.kept_cards import forget_card
from pydantic import BaseModel, model_serializer

# Workers can't import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

TINY: dict[str, Any] = {
    "n_workers": 1,
    "threads_per_worker": 1,
    "dashboard_address": ":0",
}


@task
def inc(number: int) -> int:
    return number + 1


@task
def divide(number: int) -> float:
    return 10 / number


@task
def die(number: int = 0) -> int:
    import os
    import signal

    os.kill(os.getpid(), signal.SIGKILL)
    return number


def tiny(**more: Any) -> Any:
    return DaskTaskRunner(cluster_kwargs=TINY, **more)


def here() -> Any:
    """Return a task runner whose cluster is in this process."""
    return DaskTaskRunner(cluster_kwargs={**TINY, "processes": False})


def until_ended(client: Any, task_run_id: Any) -> None:
    """Wait until the server has heard that a task run has ended."""
    wanted = TaskRunFilter.model_validate({"id": {"any_": [task_run_id]}})
    while True:
        runs = client.read_task_runs(task_run_filter=wanted)
        state = runs[0].state if runs else None  # at first, it has none
        if state is not None and state.is_final():
            return

        time.sleep(0.1)


def lines_of(prefect: Any, flow_run_id: Any, beginning: str) -> list[Any]:
    """Return the lines of a flow run's log that begin so, once there are any."""
    deadline = time.monotonic() + scaled(30)
    while True:
        lines = prefect.logs(flow_run_id)
        found = [line for line in lines if line.message.startswith(beginning)]
        if found:
            return found

        assert time.monotonic() < deadline, lines

        time.sleep(0.2)


def test_a_flow_that_succeeds_shows_its_card_and_links(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="succeeds", task_runner=tiny())
    def succeeds(count: int) -> int:
        return sum(inc.map(range(count)).result())

    assert succeeds(3) == 6

    seen = prefect.newest("succeeds", store)
    assert seen.state == "COMPLETED"
    assert seen.card.state == "succeeded"
    assert seen.card.numbers["tasks"] == 3
    assert set(seen.artifacts) == {"dask-run-succeeds"}
    page = seen.artifacts["dask-run-succeeds"]
    assert seen.card.headline in page
    assert len(seen.names) == 3
    assert all(f"| [{name}](" in page for name in seen.names)
    assert page.count("/runs/task-run/") == 3
    assert "`number=2`" in page
    assert "![Timeline of the run](data:image/png;base64," in page


@pytest.mark.nightly
def test_parameters_on_the_card_name_the_task_runs_that_were_waited_for(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="chained", task_runner=shared_runner())
    def chained() -> float:
        four: Any = inc.submit(3)
        quotient: float = divide.submit(four).result()
        add.submit([four] * 5).result()
        return quotient

    assert chained() == 2.5

    seen = prefect.newest("chained", store)
    [first] = [name for name in seen.names if name.startswith("inc-")]
    page = seen.artifacts["dask-run-chained"]
    assert f"number=<{first}>" in page
    assert f"numbers=[<{first}>, <{first}>, <{first}>, 2 more]" in page


def test_recording_can_be_switched_off_for_an_environment(
    prefect: Any, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_DASK_BLACKBOX_ENABLED", "false")

    @observed_flow(name="off", required=True, task_runner=here())
    def off() -> int:
        return inc.submit(1).result()

    assert off() == 2

    assert not store.exists()
    seen = prefect.newest("off", store)
    assert (seen.state, seen.artifacts, seen.card) == ("COMPLETED", {}, None)


def test_a_flow_that_fails_shows_why(prefect: Any, store: Path) -> None:
    alerts: list[RunCard] = []

    def alert(flow: Any, flow_run: Any, state: Any) -> None:
        alerts.append(card_of_flow_run(flow_run, flow=flow))

    @observed_flow
    @flow(name="fails", task_runner=shared_runner(), on_failure=[alert])
    def fails() -> float:
        return divide.submit(0).result()

    with pytest.raises(ZeroDivisionError):
        fails()

    seen = prefect.newest("fails", store)
    assert seen.state == "FAILED"
    assert seen.tasks["divide"].state == "FAILED"
    assert seen.card.state == "failed"
    assert seen.card.verdict.rule == "task-exception"
    assert "ZeroDivisionError" in seen.artifacts["dask-run-fails"]
    kind, verdict = "dask.run.diagnosed", seen.card.verdict
    [payload] = prefect.payloads(kind, seen.id)
    assert payload["headline"] == seen.card.headline
    assert (payload["cause"], payload["remedy"]) == (verdict.cause, verdict.remedy)
    assert payload["changes"] == []
    [(artifact, _)] = prefect.attempts("fails").values()
    assert payload["card_url"].endswith(f"/artifacts/artifact/{artifact}")
    assert prefect.labels(kind, "dask.new_failure", seen.id) == ["true"]
    assert prefect.labels(kind, "dask.failures_in_a_row", seen.id) == ["1"]
    page = prefect.page("dask-job-fails")
    row = rf"\| \[[\d :-]+\]\(<\.\./\.\./artifacts/artifact/{artifact}>\) \| 1 \| failed \| .* \| task-exception \|"
    assert re.search(row, page)
    # Templates of automations read the state.
    [emitted] = prefect.moments(kind, seen.id)
    assert emitted > seen.ended
    assert [each.headline for each in alerts] == [seen.card.headline]
    assert card_of_flow_run(str(seen.id)) == alerts[0]
    forget_card(seen.id)  # as in another process
    assert card_of_flow_run(seen.id, timeout=60).verdict == seen.card.verdict
    with pytest.raises(RunNotFoundError, match="no recording of flow run"):
        card_of_flow_run(uuid4())


@pytest.mark.nightly
def test_returned_futures_of_a_killed_task_fail_the_flow_with_the_cause(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="returned", task_runner=tiny())
    def returned() -> list[Any]:
        fine, killed = inc.submit(1), die.submit()
        return [fine, killed, inc.with_options(name="after").submit(killed)]  # type: ignore[call-overload]

    with pytest.raises(LostTasksError, match=r"1 task run was lost \('die-"):
        returned()

    seen = prefect.newest("returned", store)
    assert seen.state == "FAILED"
    assert "1 task run never ran ('after-" in seen.message
    assert seen.card.verdict.title in seen.message
    assert seen.tasks["inc"].state == "COMPLETED"
    assert seen.tasks["die"].state == "CRASHED"
    assert seen.tasks["after"].state == "CRASHED"
    assert "it waited for die-" in seen.tasks["after"].message
    assert seen.card.verdict.rule == "worker-signalled"
    assert seen.card.verdict.title in seen.tasks["die"].message
    assert set(seen.artifacts) == {"dask-run-returned"}
    _, _, card = seen.artifacts["dask-run-returned"].partition("### Affected task runs")
    hit, _, slowest = card.partition("### Slowest tasks")
    assert (hit.count("/runs/task-run/"), slowest.count("| [die-")) == (2, 1)
    assert hit.count("`number=<die-") == 1
    assert set(seen.task_pages) == {"die"}
    assert not re.search(r"die-[0-9a-f]{32}", seen.task_pages["die"])


@pytest.mark.nightly
def test_task_runs_that_failed_are_on_the_card_of_one_that_was_lost(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="lost-and-failed", task_runner=tiny())
    def lost_and_failed() -> None:
        failed: Any = divide.submit(0)
        with get_client(sync_client=True) as client:
            until_ended(client, failed.task_run_id)
        die.submit().result()

    lost_and_failed(return_state=True)

    seen = prefect.newest("lost-and-failed", store)
    assert "1 task run was lost ('die-" in seen.message
    assert seen.card.verdict.rule == "worker-signalled"
    rows = seen.artifacts["dask-run-lost-and-failed"].splitlines()
    why = " failed: ZeroDivisionError: division by zero"
    assert [row.startswith("- [divide-") for row in rows if why in row] == [True]


@task
def die_once(folder: str) -> None:
    import os
    import signal
    from pathlib import Path

    again = Path(folder, "began").exists()
    Path(folder, "again" if again else "began").touch()
    if not again:
        os.kill(os.getpid(), signal.SIGKILL)
    signal.pause()


@pytest.mark.nightly
def test_a_task_run_that_ended_a_worker_is_on_the_card_though_dask_had_not_given_it_up(
    prefect: Any, store: Path, tmp_path: Path
) -> None:
    @observed_flow(name="dies-once", task_runner=tiny())
    def dies_once() -> None:
        kept: Any = die_once.submit(str(tmp_path))
        while not (tmp_path / "again").exists():
            time.sleep(0.1)
        raise RuntimeError(f"no more time for {kept.task_run_id}")

    with dask.config.set({"distributed.scheduler.allowed-failures": 3}):
        dies_once(return_state=True)

    seen = prefect.newest("dies-once", store)
    assert seen.tasks["die_once"].state == "CRASHED"
    rows = seen.artifacts["dask-run-dies-once"].splitlines()
    why = " unfinished: a worker died while executing it, before the flow run ended"
    assert [row.startswith("- [die_once-") for row in rows if why in row] == [True]


@pytest.mark.nightly
def test_a_flow_that_only_waits_for_a_killed_task_does_not_end_green(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="waits", task_runner=tiny())
    def waits() -> str:
        die.submit().wait()
        return "fine"

    state: State[Any] = waits(return_state=True)

    seen = prefect.newest("waits", store)
    assert state.is_failed()
    assert seen.state == "FAILED"
    assert seen.tasks["die"].state == "CRASHED"


def test_the_bare_task_runner_turns_a_green_flow_red(prefect: Any, store: Path) -> None:
    @flow(name="bare", task_runner=BlackboxTaskRunner(cluster_kwargs=TINY))  # type: ignore[arg-type]
    def bare() -> str:
        die.submit().wait()
        return "fine"

    bare()

    seen = prefect.newest("bare", store)
    assert seen.state == "FAILED"
    assert "1 task run was lost ('die-" in seen.message
    assert seen.tasks["die"].state == "CRASHED"
    assert seen.card.state == "failed"
    assert seen.card.headline in seen.artifacts["dask-run-bare"]


@pytest.mark.nightly
def test_a_killed_task_that_nobody_waits_for_is_noticed(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="ignores", task_runner=tiny())
    def ignores() -> int:
        number = inc.submit(1).result()
        ignored = die.submit()
        # Dask tells; the flow itself never looks.
        ignored.wrapped_future.exception()  # type: ignore[attr-defined]
        return number

    with pytest.raises(LostTasksError):
        ignores()

    seen = prefect.newest("ignores", store)
    assert seen.state == "FAILED"
    assert {name: run.state for name, run in seen.tasks.items()} == {
        "die": "CRASHED",
        "inc": "COMPLETED",
    }


@pytest.mark.nightly
def test_result_raises_what_dask_raised_and_the_flow_reports_why(
    prefect: Any, store: Path
) -> None:
    heard: list[BaseException] = []

    @observed_flow(name="asks", task_runner=tiny())
    def asks() -> int:
        try:
            return die.submit().result()
        except KilledWorker as error:
            heard.append(error)
            raise

    with pytest.raises(KilledWorker) as caught:
        asks()

    seen = prefect.newest("asks", store)
    assert type(heard[0]) is KilledWorker
    assert isinstance(caught.value, LostTasksError)
    assert seen.card.verdict.title in seen.message
    assert (seen.state, seen.tasks["die"].state) == ("FAILED", "CRASHED")


_READS_A_STATE = """
import sys
from prefect.client.orchestration import get_client
sys.modules.update(prefect_dask_blackbox=None, dask_blackbox=None)
with get_client(sync_client=True) as client:
    state = client.read_flow_run(sys.argv[1]).state
error = state.result(raise_on_failure=False)
print(type(error).__name__, *error.__notes__)
"""


@pytest.mark.nightly
def test_a_parent_of_another_environment_reads_why_its_flow_run_failed(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="persists", persist_result=True, task_runner=tiny())
    def persists() -> int:
        return die.submit().result()

    persists(return_state=True)

    seen = prefect.newest("persists", store)
    with get_client(sync_client=True) as client:
        state = client.read_flow_run(seen.id).state
    assert state is not None
    with pytest.raises(KilledWorker) as caught:
        state.result()
    assert isinstance(caught.value, LostTasksError)
    done = subprocess.run(
        [sys.executable, "-c", _READS_A_STATE, str(seen.id)],
        env={
            **os.environ,
            **get_current_settings().to_environment_variables(exclude_unset=True),
        },
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode() == f"KilledWorker {caught.value}\n"


@pytest.mark.nightly
def test_a_flow_that_handles_the_loss_may_end_green(prefect: Any, store: Path) -> None:
    @observed_flow(name="handles", task_runner=tiny())
    def handles() -> int:
        after = inc.submit(die.submit())  # type: ignore[call-overload]
        try:
            after.result()
        except KilledWorker:
            return inc.submit(1).result()
        return 0

    assert handles() == 2

    seen = prefect.newest("handles", store)
    assert seen.state == "COMPLETED"
    assert seen.tasks["die"].state == "CRASHED"
    assert "1 warning: worker-signalled" in seen.card.headline
    assert "## ✖ A worker received SIGKILL" in seen.task_pages["die"]


def test_a_time_limit_within_a_serialiser_is_still_one(
    prefect: Any, store: Path
) -> None:
    class Slow(BaseModel):
        @model_serializer
        def serialised(self) -> str:
            while True:
                time.sleep(0.01)

    @observed_flow(name="serialises", timeout_seconds=3)
    def serialises() -> None:
        Slow().model_dump()

    state = serialises(return_state=True)

    seen = prefect.newest("serialises", store)
    assert (state.name, seen.state_name) == ("TimedOut", "TimedOut")
    assert seen.card.verdict.rule == "stopped-by-host"


@pytest.mark.nightly
def test_losses_may_be_declared_harmless(prefect: Any, store: Path) -> None:
    @observed_flow(name="harmless", task_runner=tiny(), fail_flow_on_lost_tasks=False)
    def harmless() -> str:
        die.submit().wait()
        return "fine"

    assert harmless() == "fine"

    seen = prefect.newest("harmless", store)
    assert (seen.state, seen.tasks["die"].state) == ("COMPLETED", "CRASHED")


@pytest.mark.nightly
def test_a_task_that_the_flow_leaves_behind_does_not_run_for_ever(
    prefect: Any, store: Path
) -> None:
    @task
    def dawdle(flag: str) -> None:
        import time
        from pathlib import Path

        Path(flag).touch()
        time.sleep(300)

    flag = store.parent / "began"

    @observed_flow(name="leaves", task_runner=tiny())
    def leaves() -> str:
        import time

        left = dawdle.submit(str(flag))
        while not flag.exists():
            time.sleep(0.05)
        del left
        return "gone"

    assert leaves() == "gone"

    seen = prefect.newest("leaves", store)
    assert seen.state == "COMPLETED"
    assert seen.tasks["dawdle"].state == "CRASHED"
    assert "Abandoned" in seen.tasks["dawdle"].message


@pytest.mark.nightly
def test_log_lines_of_a_task_that_died_with_its_worker_are_restored(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="silenced", task_runner=tiny(), fail_flow_on_lost_tasks=False)
    def silenced() -> None:
        from prefect.client.orchestration import get_client
        from prefect.states import Running

        fine = inc.submit(1)
        fine.wait()
        with get_client(sync_client=True) as client:
            until_ended(client, fine.task_run_id)
            # As the server sees a task whose worker died before it could say that it
            # ended.
            client.set_task_run_state(fine.task_run_id, Running(), force=True)
        del fine
        die.submit().wait()

    silenced()

    seen = prefect.newest("silenced", store)
    assert seen.tasks["inc"].state == "COMPLETED"


@pytest.mark.nightly
def test_a_killed_task_is_not_tried_again_by_prefect(prefect: Any, store: Path) -> None:
    @observed_flow(name="retried", task_runner=tiny())
    def retried() -> int:
        return die.with_options(retries=2).submit().result()

    with pytest.raises(KilledWorker):
        retried()

    assert prefect.newest("retried", store).tasks["die"].state == "CRASHED"


@pytest.mark.nightly
def test_each_attempt_of_a_flow_has_a_recording(prefect: Any, store: Path) -> None:
    attempts: list[int] = []

    @observed_flow(name="again", retries=1, task_runner=shared_runner())
    def again() -> int:
        attempts.append(inc.submit(len(attempts)).result())
        if len(attempts) == 1:
            raise ValueError("not yet")
        return len(attempts)

    assert again() == 2

    cards = sorted(store.glob("runs/job=again/*/attempt=*/card.json"))
    assert [card.parent.name for card in cards] == ["attempt=1", "attempt=2"]


@pytest.mark.nightly
def test_each_attempt_of_a_flow_has_a_card_and_names_those_before_it(
    prefect: Any,
) -> None:
    tries: list[int] = []

    @observed_flow(name="thrice", retries=2, task_runner=shared_runner())
    def thrice() -> float:
        tries.append(len(tries))
        if len(tries) == 2:
            raise LookupError("the second one")
        return divide.submit(len(tries) - 1).result()

    assert thrice() == 5.0

    cards = prefect.attempts("thrice")
    first, second, third = (cards[number] for number in (1, 2, 3))
    assert first[1].startswith("## ✖ ")
    assert "ZeroDivisionError" in first[1]
    assert "Attempt 1 of 3" in first[1]
    assert "LookupError" in second[1]
    assert "ZeroDivisionError" in headline_of(second[1], first[0], attempt=1)
    assert third[1].startswith("## ✔ ")
    assert "Attempt 3 of 3" in third[1]
    assert "ZeroDivisionError" in headline_of(third[1], first[0], attempt=1)
    assert "LookupError" in headline_of(third[1], second[0], attempt=2)
    assert prefect.tags(prefect.newest_id("thrice")) == []


def headline_of(page: str, card: str, *, attempt: int) -> str:
    """Return what a card says of an earlier attempt, beside the link to its card."""
    [line] = [
        each
        for each in page.splitlines()
        if each.startswith(f"[Attempt {attempt}](") and f"/artifact/{card}>)" in each
    ]
    return line


@task(retries=2)
def fail_differently(folder: str, api_token: str) -> None:
    from pathlib import Path as Folder

    number = len(list(Folder(folder).iterdir()))
    (Folder(folder) / str(number)).touch()
    text = f"failure {number} with {api_token}"
    raise [LookupError, OSError, ValueError][number](text)


def test_each_attempt_of_a_task_run_is_on_the_card(
    prefect: Any, store: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "tries"
    folder.mkdir()

    @observed_flow(name="tries-thrice", task_runner=shared_runner())
    def tries_thrice() -> None:
        fail_differently.submit(str(folder), "hunter2secret").result()

    with pytest.raises(ValueError, match="failure 2"):
        tries_thrice()

    page = prefect.newest("tries-thrice", store).artifacts["dask-run-tries-thrice"]
    assert "hunter2" not in page
    [row] = [line for line in page.splitlines() if " failed: attempt" in line]
    assert "attempt 1: LookupError: failure 0" in row
    assert "attempt 2: OSError: failure 1" in row
    assert "last attempt: ValueError: failure 2" in row
    assert "failure 2" in row


@task
def linger() -> int:
    import time

    time.sleep(300)
    return 1


@task
def add(numbers: list[int]) -> int:
    return sum(numbers)


@pytest.mark.nightly
def test_an_input_of_a_task_that_could_not_run_is_described(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="needless", task_runner=tiny())
    def needless() -> Any:
        # On the same worker, Dask might count its death against this one, too.
        with dask.annotate(resources={"of no worker": 1}):
            other = linger.submit()
        numbers: Any = [die.submit(), other]
        return add.submit(numbers)

    with pytest.raises(LostTasksError):
        needless()

    tasks = prefect.newest("needless", store).tasks
    assert tasks["linger"].state == "CRASHED"
    assert tasks["linger"].message.startswith("Not finished: Dask released")


@task
def make(nbytes: int) -> bytes:
    return bytes(nbytes)


@pytest.mark.nightly
@pytest.mark.parametrize("persisted", [False, True])
def test_the_largest_results_are_those_of_the_users_functions(
    prefect: Any, store: Path, *, persisted: bool
) -> None:
    name = f"makes-{persisted}"

    @observed_flow(name=name, task_runner=shared_runner(), persist_result=persisted)
    def makes() -> list[int]:
        sizes = (3 * 2**20, 100, 9 * 2**20)
        futures: Any = [make.submit(size) for size in sizes]
        return [len(future.result()) for future in futures]

    makes()

    page = prefect.newest(name, store).artifacts[f"dask-run-{name.lower()}"]
    table = page.partition("### Largest results")[2].partition("![")[0]
    table = table.replace("\N{NO-BREAK SPACE}", " ")  # between numbers and units
    assert [size for size in ("9 MiB", "3 MiB") if f"| {size} |" in table] == [
        "9 MiB",
        "3 MiB",
    ]
    assert table.count("/runs/task-run/") == 2


def test_an_async_flow_is_recorded(prefect: Any, store: Path) -> None:
    import asyncio

    @observed_flow(name="asynchronous", task_runner=shared_runner())
    async def asynchronous(number: int) -> int:
        return inc.submit(number).result()

    assert asyncio.run(asynchronous(1)) == 2

    seen = prefect.newest("asynchronous", store)
    assert (seen.state, seen.card.numbers["tasks"]) == ("COMPLETED", 1)


def test_dask_work_without_any_prefect_task_is_recorded(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="taskless", task_runner=shared_runner())
    def taskless() -> int:
        with get_dask_client() as client:
            total: int = client.submit(sum, [1, 2, 3], pure=False).result()
            return total

    assert taskless() == 6

    assert prefect.newest("taskless", store).card.numbers["tasks"] == 1


def test_a_flow_that_uses_no_cluster_does_not_look_like_a_recorded_one(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="without-dask")
    def without_dask() -> int:
        return 1

    without_dask()

    page = prefect.newest("without-dask", store).artifacts["dask-run-without-dask"]
    headline = page.partition("\n")[0]
    assert "without a Dask client" in headline
    assert "is not recorded" in headline
    assert "| succeeded |" in prefect.page("dask-job-without-dask")


def test_the_event_of_a_flow_that_runs_no_task_on_dask_follows_its_state(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="refuses-alone")
    def refuses_alone() -> None:
        raise ValueError("no orders today")

    refuses_alone(return_state=True)

    seen = prefect.newest("refuses-alone", store)
    [emitted] = prefect.moments("dask.run.diagnosed", seen.id)
    assert emitted > seen.ended


def test_a_flow_that_dies_before_its_first_task_has_a_card(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="early", task_runner=shared_runner())
    def early() -> None:
        raise ValueError("no orders today")

    with pytest.raises(ValueError, match="no orders"):
        early()

    seen = prefect.newest("early", store)
    assert seen.card.verdict.rule == "driver-exception"
    assert "no orders today" in seen.artifacts["dask-run-early"]


def test_a_cluster_that_cannot_be_made_is_reported(prefect: Any, store: Path) -> None:
    def no_cluster(**_kwargs: Any) -> Any:
        raise RuntimeError("no quota")

    @observed_flow(
        name="clusterless", task_runner=DaskTaskRunner(cluster_class=no_cluster)
    )
    def clusterless() -> int:
        return inc.submit(1).result()

    with pytest.raises(RuntimeError, match="no quota"):
        clusterless()

    seen = prefect.newest("clusterless", store)
    assert seen.state == "FAILED"
    assert "no quota" in seen.artifacts["dask-run-clusterless"]


def test_a_store_that_refuses_does_not_change_the_run(
    prefect: Any, tmp_path: Path
) -> None:
    file = tmp_path / "a-file"
    file.write_text("no folder can be made below me")

    @observed_flow(
        name="unrecorded", store=f"{file}/store", task_runner=shared_runner()
    )
    def unrecorded() -> int:
        return inc.submit(1).result()

    assert unrecorded() == 2

    seen = prefect.newest("unrecorded", tmp_path)
    assert seen.state == "COMPLETED"
    page = seen.artifacts["dask-run-unrecorded"]
    assert "recorded on this machine only" in page
    (line,) = lines_of(prefect, seen.id, "Not recorded: ")
    assert str(file) in line.message
    assert line.task_run_id is None


def test_a_run_that_must_be_recorded_fails_before_it_costs_anything(
    prefect: Any, tmp_path: Path
) -> None:
    from dask_blackbox.errors import BlackboxError

    file = tmp_path / "a-file"
    file.write_text("no folder can be made below me")
    began = []

    @observed_flow(
        name="must", store=f"{file}/store", required=True, task_runner=shared_runner()
    )
    def must() -> None:
        began.append(True)

    with pytest.raises(BlackboxError):
        must()

    assert not began
    assert prefect.newest("must", tmp_path).state == "FAILED"
