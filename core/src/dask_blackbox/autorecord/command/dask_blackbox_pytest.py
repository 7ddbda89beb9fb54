"""A pytest plugin: reports which tests of a recorded run failed, and why.

pytest survives every exception, those that tests expect included, and ends with exit code 1.
Loaded through `PYTEST_PLUGINS` by our `sitecustomize`, in the process of pytest alone.
"""

import contextlib
import os
from typing import Any

_NAME = "dask_blackbox_pytest"

_plugins = [
    name for name in os.environ.pop("PYTEST_PLUGINS", "").split(",") if name != _NAME
]
if any(_plugins):
    os.environ["PYTEST_PLUGINS"] = ",".join(_plugins)


def pytest_exception_interact(node: Any, call: Any, report: object) -> None:
    """Report the exception of a test, a fixture or a module that failed."""
    with contextlib.suppress(Exception):
        from dask_blackbox.autorecord.command import command_process

        command_process.report_failed_test(node, call, report)
