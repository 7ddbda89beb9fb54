"""What looks like a secret: in a text, and by the name that something stands under.

One list for what the recorder writes and for what a worker packs into a capsule.
"""

from __future__ import annotations

import re
from typing import Iterable

__all__ = ["BLANK", "Secrecy", "secret_name"]

BLANK = "[redacted]"

_SECRET_NAME = re.compile(
    r"secret|password|passwd|token|api[_-]?key|access[_-]?key|private[_-]?key|credential"
    r"|authorization|cookie|conn_str|connection_string|sql_alchemy_conn",
    re.IGNORECASE,
)
_PATTERNS = (
    r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b",
    r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)",
    r"(?i:(?<=bearer )[A-Za-z0-9._~+/=-]{8,})",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}\b",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    r"(?i:(?<=X-Amz-Signature=)[0-9a-f]+)",
    r"(?i:(?<=X-Amz-Security-Token=)[^&\s]+)",
)
_ASSIGNED = re.compile(
    # Neither what Dask tokenises nor `InvalidTokenError: …` assigns anything.
    r"(?i)(?P<name>\b[\w.-]*(?:secret|password|passwd|token(?!i[sz])|api_?key|access_?key)"
    r"[\w.-]*(?<!error)(?<!exception)(?<!warning)['\"]?\s*[=:]\s*)"
    r"(?P<value>\[redacted\]|\"[^\"]*\"|'[^']*'|[^\s,;&)}\]]+)"
)


def secret_name(name: str) -> bool:
    """Tell whether what stands under a name is a secret."""
    return _SECRET_NAME.search(name) is not None


class Secrecy:
    """Blanks out what looks like a secret in a text.

    Args:
        patterns: Regular expressions of the user's, on top of ours.

    Raises:
        re.error: if a pattern of the user's is none.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._pattern = re.compile("|".join(f"(?:{p})" for p in _PATTERNS))
        self._more = [re.compile(p) for p in patterns]

    def text(self, text: str) -> str:
        """Return `text` without secrets."""
        text = self._pattern.sub(BLANK, text)
        text = _ASSIGNED.sub(lambda m: m["name"] + BLANK, text)
        for pattern in self._more:
            text = pattern.sub(BLANK, text)
        return text
