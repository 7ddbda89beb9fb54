"""Whether an exception was raised in clean-up, as the source around its lines shows."""

from __future__ import annotations

import ast
import traceback

from dask_blackbox.capture.driver.handled_errors import Place
from dask_blackbox.capture.user_frames import is_foreign, is_ours

from .sources import Sources, is_in, path_to


def raised_in_cleanup(error: BaseException) -> bool:
    """Return whether an exception was raised in clean-up that another one had entered.

    That is a `finally:`, or the end of a `with` that does not raise it on purpose.  Its
    traceback looks like that of one that is raised in an `except:`.
    """
    if error.__context__ is None or error.__cause__ is not None:
        return False
    files = Sources()
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if is_foreign(file) or is_ours(file):
            continue
        scope = files.at(Place(file, line))
        path = [] if scope is None else path_to(scope, line)
        if any(is_in(getattr(node, "finalbody", ()), line) for node in path):
            return True
        at_end = frame.f_code.co_name in ("__exit__", "__aexit__")
        if at_end and path and not isinstance(path[-1], ast.Raise):
            return True
    return False
