"""A command line, taken apart: what each option was given, so that one change is one.

As one text, a seed that differs each night would hide the option that was changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["options_of"]

_OPTION = re.compile(r"--?[A-Za-z][\w.-]*")
_GIVEN = "given"


def options_of(words: Sequence[str]) -> dict[str, str]:
    """Return what a command was given, by option; the rest as `argument 1` and so on.

    Which options take a value, only the command knows: a word that follows an option is
    taken for its value, unless it is an option itself.

    Args:
        words: The command's, without its own name.
    """
    found: dict[str, list[str]] = {}
    option, number = "", 0
    for word in words:
        name, equals, value = word.partition("=")
        if _OPTION.fullmatch(name) and (equals or name == word):
            found.setdefault(name, []).append(value if equals else _GIVEN)
            option = "" if equals else name
        elif option:
            found[option][-1] = word
            option = ""
        else:
            number += 1
            found[f"argument {number}"] = [word]
    return {name: ", ".join(values) for name, values in found.items()}
