"""What a task's page shows under "Rendered Templates": the cluster, the store, addresses.

Airflow stores rendered templates before a task runs, when nothing of that is known.  Stored
again as soon as the cluster is there, they are shown while the task runs, and after it was
killed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dask_blackbox.guard import guard

if TYPE_CHECKING:
    # The real one takes a second to import, and DAG files are parsed all day.
    from distributed import Client

__all__ = ["cluster_facts", "store_rendered_templates"]


def cluster_facts(client: Client) -> dict[str, object]:
    """Return kind, size and addresses of a cluster, to be shown."""
    from dask_blackbox.formatting import exact_size

    workers = client.scheduler_info()["workers"].values()
    memory = [int(each.get("memory_limit") or 0) for each in workers]
    cluster = client.cluster
    facts = {
        "cluster": "" if cluster is None else type(cluster).__name__,
        "workers": len(workers),
        "threads": sum(int(each.get("nthreads") or 0) for each in workers),
        "memory": exact_size(sum(memory)) if memory and all(memory) else "",
        "scheduler": client.scheduler.address if client.scheduler else "",
        "dashboard": client.dashboard_link or "",
    }
    return {name: fact for name, fact in facts.items() if fact not in ("", None)}


def store_rendered_templates(task: object) -> None:
    """Let Airflow store the templated fields of a task as they are now."""
    with guard("what the task's rendered templates show"):
        from airflow.sdk.execution_time import task_runner
        from airflow.sdk.execution_time.comms import SetRenderedFields

        fields = task_runner._serialize_rendered_fields(task)  # noqa: SLF001 - no other way
        supervisor = task_runner.SUPERVISOR_COMMS
        supervisor.send(SetRenderedFields(rendered_fields=fields))
