"""Which image or release a process runs, as far as variables of its environment say it.

Images, tags and commits are handed to containers in variables of many names; only those
whose name says so are looked at.
"""

from __future__ import annotations

import os
import re
from typing import Mapping

_NAMES = re.compile(
    r"(?:^|_)(?:IMAGE|IMAGE_(?:NAME|TAG|ID|VERSION|DIGEST)|(?:DOCKER|CONTAINER|RELEASE|BUILD)"
    r"_(?:TAG|VERSION|ID)|GIT_(?:SHA|COMMIT|REVISION)|COMMIT_SHA)$"
)
_MOST = 12
_LONGEST = 200


def image_variables(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return variables that tell an image, a tag or a commit.

    Args:
        environ: The environment; None: this process's.
    """
    every = os.environ if environ is None else environ
    names = sorted(name for name in every if _NAMES.search(name))
    return {name: every[name][:_LONGEST] for name in names[:_MOST] if every[name]}
