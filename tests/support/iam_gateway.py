"""IAM in front of an S3 server: what a policy does not allow is refused, as AWS does.

It evaluates what our policies consist of: actions, resources with `*` and `?`, and the
condition on `s3:prefix`.  Whoever may list some prefixes only is refused a blob that is
not there, too, which is the strictest reading of what AWS documents.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from dask_blackbox.testing import faults
from dask_blackbox.testing.faults import Exchange

__all__ = ["Gateway"]

_ACTIONS = {"PUT": "s3:PutObject", "GET": "s3:GetObject", "DELETE": "s3:DeleteObject"}
_ESCAPED = re.compile(r"\$\{([*?$])\}|([*?])")


@dataclass
class Gateway:
    """Enforces a policy as the fault of a `FaultyS3`.

    Attributes:
        policy: The document.
        refused: Actions that were refused, with the name of the blob, or the prefix.
    """

    policy: Mapping[str, Any]
    refused: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, exchange: Exchange) -> None:
        """Pass a request on, or refuse it."""
        assert isinstance(exchange, BaseHTTPRequestHandler)
        url = urlsplit(exchange.path)
        bucket, _, name = unquote(url.path).lstrip("/").partition("/")
        if name:
            action, prefix = _ACTIONS[exchange.command], None
        else:
            assert exchange.command == "GET", exchange.command
            action = "s3:ListBucket"
            query = parse_qs(url.query, keep_blank_values=True)
            prefix = query.get("prefix", [None])[0]
        arn = f"arn:aws:s3:::{bucket}/{name}".rstrip("/")
        allowed = self.allows(action, arn, prefix)
        answer = exchange.forward() if allowed else b""
        if answer.startswith(b"HTTP/1.1 404") and action == "s3:GetObject":
            allowed = self.allows("s3:ListBucket", f"arn:aws:s3:::{bucket}", None)
        if allowed:
            exchange.send(answer)
        else:
            self.refused.append((action, name or prefix or ""))
            faults.access_denied(exchange)

    def allows(self, action: str, arn: str, prefix: str | None) -> bool:
        """Return whether a statement allows an action, and none denies it."""
        effects = {
            each["Effect"]
            for each in self.policy["Statement"]
            if action in each["Action"]
            and any(_fits(arn, pattern) for pattern in each["Resource"])
            and _meets(each.get("Condition", {}), prefix)
        }
        return effects == {"Allow"}


def _meets(condition: Mapping[str, Any], prefix: str | None) -> bool:
    if not condition:
        return True
    patterns = condition["StringLike"]["s3:prefix"]
    return prefix is not None and any(_fits(prefix, each) for each in patterns)


def _fits(text: str, pattern: str) -> bool:
    parts, at = [], 0
    for found in _ESCAPED.finditer(pattern):
        parts.append(re.escape(pattern[at : found.start()]))
        wild = {"*": ".*", "?": "."}
        parts.append(re.escape(found[1]) if found[1] else wild[found[2]])
        at = found.end()
    parts.append(re.escape(pattern[at:]))
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None
