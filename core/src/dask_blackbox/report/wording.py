"""The wording of a card and of the job's earlier runs, the same in every rendering.

In sentences, what a reader could type is between backticks; HTML renders it as code.
Links from a stored page to the other pages of its recording are relative, and no link of a
stored page has a signature.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit, urlunsplit

from markupsafe import Markup, escape

from dask_blackbox.card_data import (
    CardData,
    not_stored,
    not_stored_beside_verdict,
)
from dask_blackbox.finding import ChainStep, Change, CurrentState, Finding, Subject
from dask_blackbox.formatting import (
    count,
    counted,
    day,
    duration,
    exact_size,
    listed,
    moment,
    plain,
)
from dask_blackbox.job_history import (
    EarlierRun,
    LastingChange,
    Note,
    Past,
    Recurrence,
)
from dask_blackbox.patterns import bounded

CONFIDENCE = {
    "high": "high (proved by the evidence)",
    "medium": "medium (best match of the evidence)",
    "low": "low (possible)",
}

_LEAST_AMOUNT = 0.005
_FOR_COST = ("thread_seconds", "memory_gib_seconds")
"""Measures that are there for the cost, and not shown beside it."""

_TO_FIX = {
    "code": "the code",
    "data": "the data, or the code that reads it,",
    "environment": "the environment",
}

STATE_SIGN = {
    "running": "▶",
    "succeeded": "✔",
    "failed": "✖",
    "aborted": "⊘",
    "lost": "?",
    "stopped": "⊘",  # by its host or a person, in a job's history
}


def sign_of(card: CardData) -> str:
    """Return the sign of a card: a warning, if task runs failed of a run that completed, or if it is not stored."""
    failed = card.numbers.get("host_failures") or not_stored(card) is not None
    if card.state == "succeeded" and failed:
        return "⚠"
    return STATE_SIGN[card.state]


_ONE_PERCENT = 0.01
_MOST_EXPLAINED = 3
_MOST_DAMAGED = 5


def retry_text(finding: Finding) -> str:
    """Return whether a retry would help, and how sure that is: `transient (medium): …`."""
    advice, sure = finding.retry_advice, finding.retry_confidence
    if advice == "unknown":
        return "unknown"
    if advice == "transient":
        means = "a retry may succeed"
    elif advice == "memory":
        means = "a retry needs more memory"
    else:
        will = "will" if sure == "high" else "will probably"
        means = f"it {will} fail again until {_TO_FIX[advice]} is fixed"
    return f"{advice} ({sure}): {means}"


def subject_text(subject: Subject) -> str:
    """Return the subject of a finding in one line; empty if it has none."""
    named = (
        ("task", subject.key),
        ("prefix", None if subject.key else subject.prefix),
        ("worker", subject.worker),
    )
    return " · ".join(f"{kind} {plain(name)}" for kind, name in named if name)


def change_text(change: Change) -> str:
    """Return a change in a line: `package pandas: 2.2.1 → 3.0.0`."""
    before = "(not there)" if change.before is None else plain(change.before)
    after = "(gone)" if change.after is None else plain(change.after)
    return f"{plain(change.kind)} {plain(change.what)}: {before} → {after}"


def explained_text(change: Change) -> str:
    """Return what a change explains, in a line: `explains code prefix tax and 2 more`.

    Of code, the first is shown with its functions and their lines.
    """
    names = [f"{plain(each.kind)} {plain(each.what)}" for each in change.explains]
    if not names:
        return ""
    first = change.explains[0]
    _, found, places = (first.after or "").partition(" (")
    if first.kind == "code" and found:
        names[0] += f" ({plain(places)}"
    return f"explains {listed(names, most=_MOST_EXPLAINED)}"


def full_headline(card: CardData) -> str:
    """Return a card's headline; the title of its verdict where that was cut to make it."""
    title = card.verdict.title if card.verdict else ""
    cut = card.headline.removesuffix("…")
    return title if title.startswith(cut) else card.headline


def chain_beyond_headline(card: CardData) -> Sequence[ChainStep]:
    """Return a card's chain; none where it is the headline and how the run ended."""
    alone = len(card.chain) <= 2  # noqa: PLR2004 - see above
    repeats = alone and any(step.text == full_headline(card) for step in card.chain[:1])
    return () if repeats else card.chain


def chain_text(chain: Sequence[ChainStep]) -> str:
    """Return the steps of a chain in a line: `a → b → c`."""
    return " → ".join(plain(step.text) for step in chain)


def diffs_of(change: Change) -> list[str]:
    """Return the lines of the diffs of a change and of what it explains, each once."""
    reported = dict.fromkeys(
        each.diff for each in (change, *change.explains) if each.diff
    )
    return [plain(line) for diff in reported for line in (diff or "").split("\n")]


def rarity_text(rarity: float | None) -> str:
    """Return how unusual a change is, from the share of earlier runs without it."""
    if rarity is None:
        return ""
    if rarity >= 1:
        return "never before"
    share = 1 - rarity
    return f"as in {share:.0%} of the runs" if share >= _ONE_PERCENT else "nearly never"


def ordered_links(names: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return links as (what it is, address): the pages that people open come first."""
    first = ("report", "performance_report", "logs", "dashboard", "recording")
    rank = {name: place for place, name in enumerate(first)}
    chosen = sorted(names, key=lambda name: (rank.get(name, len(rank)), name))
    return [(name.replace("_", " "), plain(names[name])) for name in chosen]


_SECONDS = bounded(r"duration|seconds|_time$")
_BYTES = bounded(r"memory|bytes|spilled|limit$|_size$")


def numbers(measures: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return measures as (label, value): a unit for each, and memory beside its limit."""
    limit = measures.get("memory_limit")
    labelled = []
    for name, value in measures.items():
        if name in ("memory_limit", "peak_memory_share") and "peak_memory" in measures:
            continue
        label = name.removesuffix("_seconds").replace("_", " ")
        if name == "peak_memory" and limit:
            share = f"({value / limit:.0%})"
            labelled.append(
                (label, f"{exact_size(value)} of {exact_size(limit)} {share}")
            )
        else:
            labelled.append((label, measure(name, value)))
    return labelled


def shown_numbers(card: CardData) -> list[tuple[str, str]]:
    """Return the measures of a card that say something, and its cost, as (label, value)."""
    cost = cost_text(card)
    return [*numbers(relevant_numbers(card)), *([("cost", cost)] if cost else [])]


def cost_text(card: CardData) -> str:
    """Return what the cluster of a run cost; empty: no price is set, or it is not known."""
    # Settings bring Dask along, which not every process that shows cards has loaded.
    from dask_blackbox.errors import ConfigurationError
    from dask_blackbox.price import cost_of, price_setting

    try:
        prices = price_setting()
    except ConfigurationError as error:
        return f"unknown ({error})"
    price = None if prices is None else prices.of(card.job)
    cost = None if price is None else cost_of(card.numbers, price)
    if cost is None:
        return ""
    text = money(cost.amount, cost.currency)
    idle = money(cost.idle, cost.currency)
    return f"{text}, of which {idle} while threads computed no task"


def money(amount: float, currency: str) -> str:
    """Return an amount with its currency."""
    shown = (
        f"{amount:,.2f}" if amount >= _LEAST_AMOUNT or not amount else "less than 0.01"
    )
    return f"{shown} {currency}".rstrip()


def relevant_numbers(card: CardData) -> dict[str, float]:
    """Return the measures of a card without those that say nothing happened."""
    kept: tuple[str, ...] = ("duration", "tasks", "workers", "deaths")
    if card.verdict is not None and card.verdict.rule == "part-failed":
        # The failure is that of a part, whose recording has its counts.
        kept = ("duration",)
    return {
        name: n
        for name, n in card.numbers.items()
        if (n or name in kept) and name not in _FOR_COST
    }


def measure(name: str, value: float) -> str:
    """Return a measure in the unit that its name implies: seconds, bytes, a share, a count."""
    if name.endswith(("_share", "_fraction")):
        return f"{value:.0%}"
    if _SECONDS.search(name):
        return duration(value)
    if _BYTES.search(name):
        return exact_size(value)
    return count(value) if value == round(value) else f"{value:,.2f}"


def lasting_text(name: str, change: LastingChange) -> str:
    """Return since when a measure of a job is on another level.

    Args:
        name: Of the measure (`duration`).
    """
    return (
        f"{change.now / change.before:.1f} times as much since {day(change.since)}, for "
        f"{counted(change.runs, 'good run')}; before, {measure(name, change.before)}"
    )


def damage_text(card: CardData) -> str | None:
    """Return a sentence on the damaged parts of a recording; None if there are none."""
    names = [plain(name) for name in card.completeness.get("damaged", {})]
    if not names:
        return None
    return f"This recording is damaged: {listed(names, most=_MOST_DAMAGED)}"


def current_rows(card: CardData) -> list[tuple[str, str]]:
    """Return what is reported of a run that continues, beside its headline, with labels."""
    rows = [] if card.now is None else rows_of_current_state(card.now)
    return [row for row in rows if row[1] != plain(card.headline)]


def rows_of_current_state(now: CurrentState) -> list[tuple[str, str]]:
    """Return what a run that continues is doing, with labels."""
    rows = (
        ("now", plain(now.text)),
        ("why", plain(now.cause)),
        ("usual", plain(now.usual)),
        ("ends", plain(now.ends)),
        ("do", plain(now.remedy)),
    )
    return [row for row in rows if row[1]]


def missing_data(card: CardData) -> list[str]:
    """Return a sentence for each thing that the recording lacks."""
    facts = card.completeness
    reason = plain(str(facts.get("reason") or ""))
    parts = [
        plain(f"{source}: {sentence}")
        for source, sentences in facts.get("missing", {}).items()
        for sentence in sentences
    ]
    if (gone := not_stored_beside_verdict(card)) is not None:
        return [f"This run was {plain(gone)}", *parts]
    if not parts and facts.get("complete") is False and card.state != "running":
        parts = ["The recording is not complete" + (f": {reason}" if reason else "")]
    return parts


_CODE = bounded(
    r"(?<!`)(?:`(?![`\s])(?P<plain>[^`\n]*[^`\s])`"
    r"|(?P<fence>``+)(?!`)(?P<ticked>[^\n]+?)(?<!`)(?P=fence))(?!`)"
)
"""As `as_code` writes it: other backticks are those of somebody's message."""


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text, and whether each is code, without its backticks."""
    text, end = plain(text), 0
    for found in _CODE.finditer(text):
        if end < found.start():
            yield text[end : found.start()], False
        code, end = found["plain"] or found["ticked"], found.end()
        padded = code.startswith(" ") and code.endswith(" ") and code.strip()
        yield (code[1:-1] if padded else code), True
    if end < len(text):
        yield text[end:], False


def prose(text: str) -> Markup:
    """Return a text as HTML."""
    return Markup().join(
        Markup("<code>{}</code>").format(part) if code else escape(part)
        for part, code in pieces(text)
    )


_NEIGHBOURS = {
    "report": "report.html",
    "performance_report": "performance_report.html",
    "card": "card.json",
}


def kept_links(links: Mapping[str, str]) -> list[tuple[str, str, bool]]:
    """Return names and addresses of the card's links, and whether a browser can open each.

    A signed address would give access to every reader of the page, and expires.  The pages of a
    recording stay in one folder wherever it is copied.
    """
    found = []
    for name, address in ordered_links(links):
        neighbour = _NEIGHBOURS.get(name.replace(" ", "_"))
        if neighbour is not None:
            found.append((name, neighbour, True))
        else:
            web = address.startswith(("https://", "http://"))
            found.append((name, _unsigned(address) if web else address, web))
    return found


def _unsigned(address: str) -> str:
    parts = urlsplit(address)
    if "signature" not in parts.query.lower() and "@" not in parts.netloc:
        return address
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


_SURE = {"high": "", "medium": " (likely)", "low": " (low confidence: little evidence)"}
_MOST_TRIES = 4
_FEW = {1: "the only", 2: "both"}
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def blame_text(past: Past) -> str:
    """Return which side changed, and how sure that is; empty if nothing was compared."""
    if not past.summary:
        return ""
    reported = plain(past.summary)
    if past.blame in ("unknown", "nothing") or past.last_good is None:
        return reported
    return f"{reported.removesuffix('.')}{_SURE[past.confidence]}."


def good_run_text(run: EarlierRun) -> str:
    """Return the run compared with: `run-7 of 2026-11-20 02:00:00 UTC, 18 m 02 s`."""
    took = "" if run.duration is None else f", took {duration(run.duration)}"
    attempt = f" (attempt {run.attempt})" if run.attempt > 1 else ""
    return f"{plain(run.run_id)}{attempt} of {moment(run.started)}{took}"


def coverage_text(past: Past) -> str:
    """Return how many earlier runs were compared."""
    if not past.runs:
        return ""
    runs = counted(past.runs, "earlier run")
    if past.more:
        text = f"{past.compared:,} of more than {runs} looked at"
    elif past.compared == past.runs:
        which = _FEW.get(past.runs)
        text = f"{which or 'all'} {runs[2:] if which else runs} looked at"
    else:
        text = f"{past.compared} of {runs} looked at"
    if past.good < past.runs:
        none = "it did not succeed" if past.runs == 1 else "none succeeded"
        text += f"; {past.good:,} of them succeeded" if past.good else f"; {none}"
        if past.stopped:
            text += (
                f", {past.stopped:,} {'was' if past.stopped == 1 else 'were'} stopped"
            )
    if past.unreadable:
        text += f"; {past.unreadable} could not be read"
    return text


def recurrence_text(card: CardData) -> str:
    """Return how often the job has failed like this; empty if the history was not read."""
    past = card.past
    if past is None:
        return ""
    if past.recurrence is None:
        text = ""
    elif past.recurrence.times > 1:
        text = _times(past.recurrence, more=past.more)
    elif any(each.same_failure for each in past.attempts):
        text = "no other run of this job failed this way"
    else:
        text = "the first failure of its kind in this job" if past.runs else ""
    known = (past.siblings, "" if past.recurrence is None else _tries(past), text)
    return "; ".join(filter(None, known))


def note_texts(card: CardData, *, most: int | None = 3) -> list[str]:
    """Return what was written about the run and about failures of the same kind.

    Args:
        most: How many are written out, the newest first; None: all.
    """
    if card.past is None:
        return []
    shown = [_note_text(each) for each in card.past.notes[:most]]
    if more := len(card.past.notes) - len(shown):
        shown.append(f"and {counted(more, 'older note')} (`dask blackbox note RUN`)")
    return shown


def _note_text(note: Note) -> str:
    tags = " ".join(f"#{plain(each)}" for each in note.tags)
    said = " ".join([*plain(note.text).split(), *([tags] if tags else [])])
    where = "/".join(plain(note.run).split("/")[1:])
    return f"{plain(note.by)} on {day(note.at)}, about {where}: {said}"


def _tries(past: Past) -> str:
    """Return the outcome of earlier attempts of the same run."""
    alike = [str(each.attempt) for each in past.attempts if each.same_failure]
    parts = []
    if alike:
        parts.append(f"{_attempts(alike)} of this run failed in the same way")
    for each in past.attempts:
        if not each.same_failure:
            why = f" ({plain(each.verdict)})" if each.verdict else ""
            end = "failed differently" if each.state == "failed" else each.state
            end = f"was {end}" if end in ("lost", "aborted") else end
            parts.append(f"{_attempts([str(each.attempt)])} {end}{why}")
    return "; ".join(parts[:_MOST_TRIES])


def _attempts(numbers: list[str]) -> str:
    noun = "attempt" if len(numbers) == 1 else "attempts"
    return f"{noun} {listed(numbers, most=len(numbers))}"


def _times(seen: Recurrence, *, more: bool) -> str:
    least = "at least " if more else ""
    before = " or before" if more else ""
    text = f"{least}{seen.times:,} times, first on {day(seen.first)}{before}"
    if seen.last is not None and day(seen.last) != day(seen.first):
        text += f", last on {day(seen.last)}"
    if seen.in_a_row > 1:
        text += f"; the {_ordinal(seen.in_a_row)} time in a row"
    return text


def habits_text(past: Past) -> str:
    """Return the changes that are not listed because most runs have them."""
    if not past.habits:
        return ""
    listed = ", ".join(plain(each) for each in past.habits)
    return f"not listed because it changes in most runs: {listed}"


def _ordinal(number: int) -> str:
    teens = 10 < number % 100 < 20  # noqa: PLR2004
    return f"{number}{'th' if teens else _ENDINGS.get(number % 10, 'th')}"
