"""The automations that the guide offers are accepted by a real server."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import yaml
from conditions import scaled
from prefect.client.orchestration import get_client
from prefect.events import Event
from prefect.events.schemas.automations import AutomationCore

FILE = Path(__file__).parents[2] / "prefect_collection" / "automations.yaml"


def test_each_automation_is_accepted_with_its_trigger_and_action() -> None:
    found = [
        AutomationCore.model_validate(each)
        for each in yaml.safe_load(FILE.read_text())["automations"]
    ]

    with get_client(sync_client=True) as client:
        for each in found:
            body = each.model_dump(mode="json")
            made = client.request("POST", "/automations/", json=body)
            made.raise_for_status()
            # Other tests use this server: a flow run of theirs must not be cancelled.
            client.delete_automation(UUID(made.json()["id"]))

    assert [
        (each.actions[0].type, *sorted(each.trigger.expect)[:1])  # type: ignore[union-attr]
        for each in found
    ] == [
        ("run-deployment", "dask.run.diagnosed"),
        ("pause-deployment", "dask.run.diagnosed"),
        ("send-notification", "dask.run.diagnosed"),
        ("call-webhook", "dask.run.diagnosed"),
        ("cancel-flow-run", "dask.run.stall-over"),
        ("change-flow-run-state", "prefect.flow-run.Cancelled"),
    ]


def test_an_automation_loaded_unchanged_acts_on_no_deployment_and_asks_no_block() -> (
    None
):
    """Its ids are of nothing, and without a block it is off."""
    for each in yaml.safe_load(FILE.read_text())["automations"]:
        acts_on = each["trigger"].get("match_related", {}).get("prefect.resource.id")
        kinds = {action["type"] for action in each["actions"]}
        if kinds & {"run-deployment", "pause-deployment"}:
            assert acts_on == [f"prefect.deployment.{UUID(int=0)}"]
        if kinds & {"send-notification", "call-webhook"}:
            assert each["enabled"] is False


def test_only_the_deployment_that_failed_three_times_alike_is_paused() -> None:
    [pausing] = [
        each
        for each in yaml.safe_load(FILE.read_text())["automations"]
        if each["actions"][0]["type"] == "pause-deployment"
    ]
    with get_client(sync_client=True) as client:
        flow_id = client.create_flow_from_name("nightly")
        failing, other, twice = (
            client.create_deployment(flow_id, f"{name}-{uuid4()}")
            for name in ("failing", "other", "twice")
        )
        only = pausing["trigger"]["match_related"]
        made = []
        for deployment in (failing, twice):
            only["prefect.resource.id"] = [f"prefect.deployment.{deployment}"]
            made.append(
                client.create_automation(AutomationCore.model_validate(pausing))
            )
        # In order: what the last one leads to comes last.
        rows = [(other, 3), (twice, 2), (failing, 2), (failing, 3)]
        for deployment, number in rows:
            event = diagnosed(deployment, number).model_dump(mode="json")
            client.request("POST", "/events", json=[event]).raise_for_status()

        deadline = time.monotonic() + scaled(60)
        while not client.read_deployment(failing).paused:
            assert time.monotonic() < deadline, "the automation has not acted"
            time.sleep(0.2)

        assert not any(client.read_deployment(each).paused for each in (other, twice))
        for each in made:
            client.delete_automation(each)


def diagnosed(deployment: UUID, failures: int) -> Event:
    """Return an event as a run of a deployment emits it that failed."""
    return Event.model_validate(
        {
            "event": "dask.run.diagnosed",
            "resource": {
                "prefect.resource.id": f"dask.run.{uuid4()}.1",
                "dask.failures_in_a_row": str(failures),
            },
            "related": [
                {
                    "prefect.resource.id": f"prefect.deployment.{deployment}",
                    "prefect.resource.role": "deployment",
                }
            ],
        }
    )


def test_no_automation_that_starts_runs_can_start_itself() -> None:
    found: list[dict[str, Any]] = yaml.safe_load(FILE.read_text())["automations"]
    starting = [
        each["trigger"]
        for each in found
        if any(action["type"] == "run-deployment" for action in each["actions"])
    ]

    assert starting
    for trigger in starting:
        assert trigger["match"]["dask.by_automation"] == ["false"]
        assert trigger["match_related"]["prefect.resource.role"] == ["deployment"]
