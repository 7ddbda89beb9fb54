"""What is said of one thing that had happened before a verdict."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Words:
    """What is said of one thing that had happened before a verdict.

    Attributes:
        text: A sentence, without its end; with it where there is an `account`, or no headline.
        headline: What it was, for a title; empty: no step, but it says more of the verdict.
        because: A sentence on how it led there; empty: only that it came before is known.
        remedy: What helps against it; empty: nothing more than its line.
        account: Sentences on how it led there, in the place of `text` and `because`; with the
            grade `given`, those of the whole cause.
        fix: What to do, in the place of a look at it and `remedy`.
        effect: What the verdict is about then, in the place of its title.
    """

    text: str
    headline: str = ""
    because: str = ""
    remedy: str = ""
    account: str = ""
    fix: str = ""
    effect: str = ""
