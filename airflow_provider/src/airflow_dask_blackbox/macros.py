"""The macro `{{ macros.dask_blackbox.env(ti) }}`: a task, for Dask that runs elsewhere.

It is the value of one environment variable, for operators that start a pod, a container, another
Python or a command:

    KubernetesPodOperator(
        env_vars={"BLACKBOX_TASK": "{{ macros.dask_blackbox.env(ti) }}"},
        cmds=["dask", "blackbox", "run", "--", "python", "nightly.py"],
    )
"""

from __future__ import annotations

import json
from typing import Any

__all__ = ["env"]


def env(ti: Any, store: str | None = None) -> str:
    """Return what a recording elsewhere has to know of a task instance, as JSON.

    Job, run, map index, try and page of the task instance, the trace that it belongs to, and
    the store; credentials are not passed, so the store has to be reachable with those that
    are there.

    Args:
        ti: The task instance, as templates have it.
        store: The store.  None: that of `[dask_blackbox] store`, if there is one.
    """
    # Every process of Airflow imports this module.
    from airflow_dask_blackbox.addresses import TaskKey, tab_of
    from airflow_dask_blackbox.stores import configured_store

    key = TaskKey.of(ti)
    carrier = getattr(ti, "context_carrier", None) or {}
    said = {
        "dag_id": key.dag_id,
        "task_id": key.task_id,
        "run_id": key.run_id,
        "map_index": str(key.map_index),
        "try_number": str(ti.try_number),
        "url": tab_of(key, ti.try_number),
        "store": configured_store(store),
        "traceparent": carrier.get("traceparent"),
    }
    passed = {name: each for name, each in said.items() if each}
    # `null` is no literal of Python's: with `render_template_as_native_obj`, Airflow makes a
    # dict of a text that is one, and a variable takes text only.
    return json.dumps({**passed, "credentials": None})
