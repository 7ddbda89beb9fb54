"""Masks in the recording what Airflow masks in its own log: connections, variables.

Airflow keeps the secret values that a task has asked for, from the moment it gets them.
They become known while the task runs, so each of them is passed on at once.
"""

from __future__ import annotations

import functools
import re
import sys
from typing import Any, Final

from dask_blackbox.guard import guard
from dask_blackbox.patterns import bounded

__all__ = ["follow_airflow_masks"]

# The task SDK has a copy of its own of what the rest of Airflow uses.
_MODULES: Final = (
    "airflow.sdk._shared.secrets_masker",
    "airflow._shared.secrets_masker",
    "airflow.sdk.execution_time.secrets_masker",
)
_ESCAPED: Final = bounded(r"\\(.)", re.DOTALL)
_FOLLOWED: Final = "_dask_blackbox_follows"


def follow_airflow_masks() -> None:
    """Mask what Airflow masks in this process by now, and whatever it adds from now on."""
    with guard("what Airflow masks in its log"):
        for name in _MODULES:
            find = getattr(sys.modules.get(name), "_secrets_masker", None)
            if find is not None:
                _follow(find())


def _follow(masker: Any) -> None:
    if getattr(masker, _FOLLOWED, False):
        return
    setattr(masker, _FOLLOWED, True)
    passed_on: set[str] = set()
    add = masker.add_mask

    @functools.wraps(add)
    def add_mask(*args: object, **kwargs: object) -> None:
        add(*args, **kwargs)
        with guard("what Airflow masks in its log"):
            _pass_on(masker, passed_on)

    # Of this one object: a subclass or a second masker would not be asked.
    masker.add_mask = add_mask
    _pass_on(masker, passed_on)


def _pass_on(masker: Any, passed_on: set[str]) -> None:
    from dask_blackbox import mask_secret

    new = masker.patterns - passed_on
    if new:
        passed_on |= new
        # Airflow keeps them as regular expressions.
        mask_secret([_ESCAPED.sub(r"\1", each) for each in new])
