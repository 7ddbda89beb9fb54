"""The automations that the guide offers are accepted by a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import yaml
from prefect.client.orchestration import get_client
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

    assert [sorted(each.trigger.expect) for each in found[:2]] == [  # type: ignore[union-attr]
        ["dask.run.diagnosed"],
        ["dask.run.stall-over"],
    ]
    assert [each.actions[0].type for each in found] == [
        "run-deployment",
        "cancel-flow-run",
        "change-flow-run-state",
    ]


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
