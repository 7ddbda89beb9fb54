"""The identity of a task instance: job, run and attempt of its recording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_dask_blackbox.compat import conf

if TYPE_CHECKING:
    # The real one imports Dask's configuration, and DAG files are parsed all day.
    from dask_blackbox.identity import Identity

__all__ = ["current_context", "current_identity", "identity_of", "parameters_of"]

_LONGEST = 500
_MOST_ITEMS = 20
_DEEPEST = 2
_LABEL = "map_index_template"


def identity_of(context: Mapping[str, Any], job: str | None = None) -> Identity:
    """Return who the task instance is that runs with `context`.

    A mapped task's instances are runs of one job, distinguished by their index.
    """
    from dask_blackbox.identity import Identity

    ti = context["ti"]
    map_index = -1 if ti.map_index is None else int(ti.map_index)
    host = {
        "kind": "airflow",
        "url": _page_of(ti),
        "dag_id": ti.dag_id,
        "run_id": ti.run_id,
        "task_id": ti.task_id,
        "map_index": map_index,
        "try_number": ti.try_number,
        "bundle": _bundle_of(ti),
    }
    return Identity(
        job=job or f"{ti.dag_id}.{ti.task_id}",
        run_id=ti.run_id if map_index < 0 else f"{ti.run_id}.map{map_index}",
        attempt=max(1, int(ti.try_number or 1)),
        host={name: fact for name, fact in host.items() if fact is not None},
    )


def current_context() -> Mapping[str, object] | None:
    """Return the context of the task that runs in this process; None: there is none."""
    from airflow.sdk import get_current_context

    try:
        return get_current_context()
    except RuntimeError:  # a command that a task has started
        return None


def current_identity() -> Identity | None:
    """Return who the task instance is that runs in this process; None: there is none.

    For `recording()` in tasks of any operator (entry point `dask_blackbox.identities`):
    Airflow's environment variables do not say which instance of a mapped task it is.
    """
    context = current_context()
    return None if context is None else identity_of(context)


def parameters_of(
    context: Mapping[str, Any], op_kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what this run was asked to do: the DAG run's params and the plain `op_kwargs`.

    Both stand on Airflow's own pages; values of other types, and long lists, could be the
    data itself.  The label that a mapped task gives its instances (`map_index_template`) is
    one of them where none of these is its text: an operator that is mapped over other
    arguments, such as a command, has nothing else that tells its instances apart.
    """
    params = context.get("params") or {}
    named = {**dict(params), **op_kwargs}
    label = getattr(context.get("ti"), "rendered_map_index", None)
    if label and str(label) not in map(str, named.values()):
        named[_LABEL] = str(label)
    return {
        name: value[:_LONGEST] if isinstance(value, str) else value
        for name, value in named.items()
        if _is_plain(value)
    }


def _is_plain(value: object, depth: int = 0) -> bool:
    """Return whether a value is text or a number, or a short list or dict of those.

    A task that is mapped over a dict gets each item as a tuple of its key and value.
    """
    if isinstance(value, list | tuple | Mapping):
        inside = value.values() if isinstance(value, Mapping) else value
        short = depth < _DEEPEST and len(value) <= _MOST_ITEMS
        return short and all(_is_plain(each, depth + 1) for each in inside)
    if isinstance(value, str):
        return not depth or len(value) <= _LONGEST
    return value is None or isinstance(value, int | float | bool)


def _page_of(ti: object) -> str | None:
    # Without the setting, Airflow would answer with an address that opens nowhere else.
    if not conf.get("api", "base_url", fallback=None):
        return None
    url = getattr(ti, "log_url", None)
    return str(url) if url else None


def _bundle_of(ti: object) -> str | None:
    """Return which version of the DAG's bundle runs (a commit, for one that Git holds)."""
    bundle = getattr(ti, "bundle_instance", None)
    version = getattr(bundle, "version", None)
    return f"{bundle.name}@{version}" if bundle is not None and version else None
