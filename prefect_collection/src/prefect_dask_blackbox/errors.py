"""What this collection raises into a flow, and why.

BlackboxError (of dask_blackbox)
└── LostTasksError      tasks died with their workers, and the flow did not notice
"""

from __future__ import annotations

from collections.abc import Sequence

from dask_blackbox.errors import BlackboxError

__all__ = ["LostTasksError"]


class LostTasksError(BlackboxError):
    """Tasks of this flow run were lost with their workers, and the flow went on.

    Attributes:
        tasks: Names of the tasks that were lost, each once.
    """

    def __init__(self, tasks: Sequence[str], count: int, cause: str) -> None:
        self.tasks = tuple(dict.fromkeys(tasks))
        named = ", ".join(repr(name) for name in self.tasks[:5])
        more = ", …" if len(self.tasks) > 5 else ""  # noqa: PLR2004
        runs = "1 task run was" if count == 1 else f"{count} task runs were"
        super().__init__(
            f"{runs} lost ({named}{more}). {cause} "
            "To go on without them, handle the exception of each future's result()."
        )
        self._arguments = (tasks, count, cause)

    def __reduce__(
        self,
    ) -> tuple[type[LostTasksError], tuple[Sequence[str], int, str]]:
        return (type(self), self._arguments)
