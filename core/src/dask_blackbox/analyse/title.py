"""The title of a finding: what came before it, what happened, and how the run then ended.

What looks at a verdict after the rules gives these as steps; only here do they become one
sentence.
"""

from __future__ import annotations

import msgspec

from dask_blackbox.finding import Finding
from dask_blackbox.formatting import capital, short_with_paths, uncapitalised

INTERRUPTED = "interrupted by Ctrl-C (SIGINT)"
"""How a run ended that somebody stopped: that begins the title, unless something came before."""

_LONGEST = 140
"""Characters of what happened, between what came before it and the end."""


def titled(finding: Finding) -> Finding:
    """Return a finding whose title has all of its steps; what happened is its own title."""
    if not finding.before and not finding.ended:
        return finding
    return msgspec.structs.replace(
        finding, title=_sentence(finding), own_title=finding.title
    )


def _sentence(finding: Finding) -> str:
    before = [each.text for each in finding.before]
    if finding.ended == INTERRUPTED and not before:
        return f"{capital(INTERRUPTED)}: {uncapitalised(finding.title)}"
    own = short_with_paths(finding.title, _LONGEST)
    after = [finding.ended] if finding.ended else []
    steps = [*before, own, *after]
    return "; then ".join([*steps[:1], *map(uncapitalised, steps[1:])])


def own_title(finding: Finding) -> str:
    """Return what happened, without what came before it and how the run then ended."""
    return finding.own_title or finding.title
