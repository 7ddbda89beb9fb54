"""What a card says of the job's earlier runs, in sentences, the same in every rendering."""

from __future__ import annotations

from datetime import UTC, datetime

from dask_blackbox.card import RunCard
from dask_blackbox.earlier_runs import EarlierRun, Past, Seen
from dask_blackbox.formatting import counted, duration, moment, plain

_SURE = {"high": "", "medium": " (likely)", "low": " (low confidence: little evidence)"}
_MOST_TRIES = 4
_FEW = {1: "the only", 2: "both"}
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def blame_words(past: Past) -> str:
    """Return which side changed, and how sure that is; empty if nothing was compared."""
    if not past.says:
        return ""
    reported = plain(past.says)
    if past.blame in ("unknown", "nothing") or past.last_good is None:
        return reported
    return f"{reported.removesuffix('.')}{_SURE[past.confidence]}."


def against_words(run: EarlierRun) -> str:
    """Return what the changes are against: `run-7 of 2026-11-20 02:00:00 UTC, 18 m 02 s`."""
    took = "" if run.duration is None else f", took {duration(run.duration)}"
    attempt = f" (attempt {run.attempt})" if run.attempt > 1 else ""
    return f"{plain(run.run_id)}{attempt} of {moment(run.started)}{took}"


def looked_words(past: Past) -> str:
    """Return how much of the past was looked at."""
    if not past.runs:
        return ""
    runs = counted(past.runs, "earlier run")
    if past.more:
        text = f"{past.looked_at:,} of more than {runs} looked at"
    elif past.looked_at == past.runs:
        which = _FEW.get(past.runs)
        text = f"{which or 'all'} {runs[2:] if which else runs} looked at"
    else:
        text = f"{past.looked_at} of {runs} looked at"
    if past.good < past.runs:
        text += (
            f"; {past.good:,} of them succeeded" if past.good else "; none succeeded"
        )
        if past.stopped:
            text += (
                f", {past.stopped:,} {'was' if past.stopped == 1 else 'were'} stopped"
            )
    if past.unreadable:
        text += f"; {past.unreadable} could not be read"
    return text


def seen_words(card: RunCard) -> str:
    """Return how often the job has failed like this; empty where nobody has looked."""
    past = card.past
    if past is None or past.seen is None:
        return ""
    if past.seen.times > 1:
        text = _times(past.seen, more=past.more)
    elif any(each.alike for each in past.tries):
        text = "no other run of this job failed this way"
    else:
        text = "the first failure of its kind in this job" if past.runs else ""
    return "; ".join(each for each in (_tries(past), text) if each)


def _tries(past: Past) -> str:
    """Return what became of earlier attempts of the same run."""
    alike = [str(each.attempt) for each in past.tries if each.alike]
    parts = []
    if alike:
        parts.append(f"{_attempts(alike)} of this run failed in the same way")
    for each in past.tries:
        if not each.alike:
            why = f" ({plain(each.verdict)})" if each.verdict else ""
            end = "failed differently" if each.state == "failed" else each.state
            end = f"was {end}" if end in ("lost", "aborted") else end
            parts.append(f"{_attempts([str(each.attempt)])} {end}{why}")
    return "; ".join(parts[:_MOST_TRIES])


def _attempts(numbers: list[str]) -> str:
    if len(numbers) == 1:
        return f"attempt {numbers[0]}"
    return f"attempts {', '.join(numbers[:-1])} and {numbers[-1]}"


def _times(seen: Seen, *, more: bool) -> str:
    least = "at least " if more else ""
    before = " or before" if more else ""
    text = f"{least}{seen.times:,} times, first on {day(seen.first)}{before}"
    if seen.last is not None and day(seen.last) != day(seen.first):
        text += f", last on {day(seen.last)}"
    if seen.in_a_row > 1:
        text += f"; the {_ordinal(seen.in_a_row)} time in a row"
    return text


def habit_words(past: Past) -> str:
    """Return what is left out of the changes; empty if nothing is."""
    if not past.habits:
        return ""
    listed = ", ".join(plain(each) for each in past.habits)
    return f"not listed because it changes in most runs: {listed}"


def day(at: float) -> str:
    """Return the day (UTC) of a moment in epoch seconds."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"


def _ordinal(number: int) -> str:
    teens = 10 < number % 100 < 20  # noqa: PLR2004
    return f"{number}{'th' if teens else _ENDINGS.get(number % 10, 'th')}"
