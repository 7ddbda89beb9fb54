"""Which tasks `record_every_client` is for, by patterns in Airflow's configuration.

[dask_blackbox]
record_every_client = True
record_every_client_only = dag:etl_*, tag:dask
record_every_client_except = operator:*Sensor, task_group:checks
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple, Self

from airflow_dask_blackbox.arguments import OperatorConfigurationError
from airflow_dask_blackbox.compat import conf

__all__ = ["OPT_OUT", "TaskSelection"]

OPT_OUT: Final = "no-dask-recording"
"""Tag of DAGs whose tasks are not recorded."""

_ONLY, _EXCEPT = "record_every_client_only", "record_every_client_except"
_KINDS: Final = ("dag", "tag", "task_group", "task", "operator")


class TaskSelection(NamedTuple):
    """Patterns of tasks, each a kind and a name with `*` and `?`.

    Attributes:
        only: Tasks that are recorded; empty: all.
        never: Tasks that are not.
    """

    only: tuple[tuple[str, str], ...]
    never: tuple[tuple[str, str], ...]

    @classmethod
    def configured(cls) -> Self:
        """Return what Airflow's configuration says.

        Raises:
            OperatorConfigurationError: if a pattern has no kind that there is.
        """
        return cls(_patterns(_ONLY), _patterns(_EXCEPT))

    def takes(self, task: Any) -> bool:
        """Return whether the Dask clients of a task are recorded."""
        names = list(_names_of(task))
        return not _match(self.never, names) and (
            not self.only or _match(self.only, names)
        )


def _patterns(option: str) -> tuple[tuple[str, str], ...]:
    given = conf.get("dask_blackbox", option, fallback="") or ""
    found = []
    for text in filter(None, map(str.strip, given.split(","))):
        kind, _, pattern = map(str.strip, text.partition(":"))
        if kind not in _KINDS or not pattern:
            raise OperatorConfigurationError(
                f"{option} has {text!r}; write a kind ({', '.join(_KINDS)}) and a pattern, "
                "as in dag:etl_*"
            )
        found.append((kind, pattern))
    return tuple(found)


def _match(patterns: tuple[tuple[str, str], ...], names: list[tuple[str, str]]) -> bool:
    return any(
        kind == known and fnmatchcase(name, pattern)
        for kind, pattern in patterns
        for known, name in names
    )


def _names_of(task: Any) -> Iterator[tuple[str, str]]:
    """Yield what a task can be called, by kind: its operator also by its base classes."""
    yield "dag", task.dag_id
    yield "task", task.task_id
    yield from (("tag", tag) for tag in getattr(task.dag, "tags", None) or ())
    yield from (("operator", base.__name__) for base in type(task).__mro__)
    yield "operator", task.operator_name
    group = task.task_group
    while group is not None and group.group_id is not None:
        yield "task_group", group.group_id
        group = group.parent_group
