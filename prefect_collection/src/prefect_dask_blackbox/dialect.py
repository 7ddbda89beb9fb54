"""Prefect's terms for the remedies on the card."""

from __future__ import annotations

from dask_blackbox.dialect import RemedyDialect

__all__ = ["DIALECT"]

DIALECT = RemedyDialect(
    run="flow run",
    engine="/prefect/task_engine.py",
    task_retries="Prefect's `@task(retries=3, retry_delay_seconds=10)`",
    notices=(
        r"Task run failed with [^:]+: .* - Retry \d+/\d+ will start |"
        r"Timeout of [\d.]+ seconds configured for this task, but |"
        r"Task run exceeded timeout of [\d.]+ second|"
        r"Finished in state (?:Failed|TimedOut|Crashed|NotReady)\(|"
        r"Unable to connect to 'wss?://|Service 'EventsWorker' failed with |"
        # Of its handler of logs, which ends no line after the reason.
        r"--- Error logging to API ---|^All connection attempts failed\d\d:\d\d:"
    ),
    shipped="inside the task's function",
    settings={
        "blackbox.store.url": "`store=`",
        "blackbox.store.profile": '`store="block:NAME"`',
        "blackbox.store.endpoint": "`endpoint` of the block",
        "blackbox.store.region": "`region` of the block",
    },
    time_limits={"timeout_seconds": "timeout_seconds={seconds}"},
    remedies={
        "Cannot suspend flows without a deployment": (
            "Prefect suspends flow runs of deployments only: run it from one, or wait in "
            "the flow with `pause_flow_run`."
        ),
        "was paused and never resumed": (
            "Nobody resumed the flow run within the `timeout` of `pause_flow_run` (Prefect's "
            "limit for a pause, in seconds): resume it in time, or raise that `timeout`."
        ),
    },
)
"""Dask's own retries know nothing of Prefect's tasks, which return their failures."""
