"""The task of an orchestrator that started this process elsewhere: in a pod, a container, a shell.

Its operator passes one variable, as `{{ macros.dask_blackbox.env(ti) }}` makes it in Airflow: a
JSON object of texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

TASK_VARIABLE: Final = "BLACKBOX_TASK"
_MOST = 16_384


def calling_task(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what the task said of itself, by name; empty: no task did.

    The names are `dag_id`, `task_id`, `run_id`, `map_index` (-1: not mapped), `try_number`,
    `url`, `store` and `traceparent`.
    """
    text = environ.get(TASK_VARIABLE, "")
    try:
        said = json.loads(text) if len(text) <= _MOST else {}
    except ValueError:
        return {}
    if not isinstance(said, dict):
        return {}
    return {name: each for name, each in said.items() if isinstance(each, str) and each}
