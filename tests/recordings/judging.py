"""Compare what is said of a recording with what was done."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from staging import Failure

if TYPE_CHECKING:
    from dask_blackbox.card import RunCard
    from dask_blackbox.run_tables import RunTables

__all__ = ["NOT_YET", "Result", "judge", "judge_run"]

NOT_YET = "not made yet"

Kind = Literal["right", "wrong", "unknown", "names", "absent"]
"""`names`: the cause is right, but what it must name is missing; `absent`: there is no
recording."""


class Result(NamedTuple):
    """What is said of a case, and whether it is true."""

    case: Failure
    kind: Kind
    problem: str = ""
    slug: str = ""
    confidence: str = ""
    title: str = ""
    state: str = ""


def judge(case: Failure, place: Path) -> Result:
    """Diagnose a recording anew, with the rules of now, and judge what they say.

    Args:
        case: What was reported.
        place: The store that it was recorded in.
    """
    reported: dict[str, Any] = {}
    if (place / "reported.json").exists():
        reported = json.loads((place / "reported.json").read_text())
    if not reported or "not_here" in reported:
        return Result(case, "absent", reported.get("not_here", NOT_YET))
    runs = sorted((place / "runs").glob("job=*/run=*/attempt=*"))
    if not runs:
        return Result(case, "wrong", "there is no recording", slug="(none)")
    from dask_blackbox.reader import Run

    opened = [Run.open(each) for each in runs]
    # A recorder that was killed when the case was reported before may have been taken up.
    own = [run for run in opened if run.manifest.started >= reported["at"]]
    return judge_run(case, reported, (own or opened)[0])


def judge_run(case: Failure, reported: Mapping[str, Any], run: RunTables) -> Result:
    """Diagnose a recording with the rules of now, and judge what they say.

    Args:
        case: What was reported.
        reported: How its run ended.
        run: The recording.
    """
    from dask_blackbox.analyse import findings_in
    from dask_blackbox.card import card_of

    card = card_of(run, findings_in(run))
    if reported.get("exit") == 0 and card.state == "succeeded":
        return Result(case, "absent", "it did not fail there: nothing to diagnose")
    return _compared(case, card)


def _compared(case: Failure, card: RunCard) -> Result:
    verdict = card.verdict
    if verdict is None:
        state = f"no verdict; the run {card.state}"
        return Result(case, "wrong", state, "(none)", "", card.headline, card.state)
    said = (verdict.rule, verdict.confidence, verdict.title, card.state)
    if verdict.rule not in case.causes:
        kind: Kind = "unknown" if verdict.rule == "unknown" else "wrong"
        expected = " or ".join(case.causes)
        return Result(case, kind, f"{verdict.rule}, not {expected}", *said)
    text = "\n".join(
        [verdict.title, verdict.cause, *(each.text for each in verdict.evidence)]
    )
    missing = [n for n in case.names if not re.search(n, text, re.IGNORECASE)]
    if missing:
        return Result(case, "names", f"does not name {missing}", *said)
    return Result(case, "right", "", *said)
