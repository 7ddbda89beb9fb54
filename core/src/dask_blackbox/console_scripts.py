"""Scripts that an installer generates for a command, such as the `airflow` in `bin`.

They lie in no library, and what they call is no code of the job's.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_console_script"]

_SCRIPT: Final = re.compile(r".*[\\/](?:bin|Scripts)[\\/][^.\\/]+(?:\.exe)?")
_CALL: Final = re.compile(r"(?:sys\.exit|raise SystemExit)\([\w.]+\(\)\)")


def is_console_script(file: str, function: str, code: str) -> bool:
    """Return whether a frame is the one line of such a script that calls the command.

    Args:
        file: Path of the frame's code.
        function: Its name.
        code: The line.
    """
    return (
        function == "<module>"
        and _SCRIPT.fullmatch(file) is not None
        and _CALL.fullmatch(code.strip()) is not None
    )
