"""The card as Markdown: for Prefect's artifact, Airflow's notes and chat.

GitHub-flavoured tables and `<details>` are used; everything that came from the run is
escaped, so that a log line stays a log line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from dask_blackbox.card_data import CardData
from dask_blackbox.finding import Change, Evidence, Finding
from dask_blackbox.formatting import as_code, capital, clock, plain
from dask_blackbox.job_history import Past
from dask_blackbox.patterns import bounded
from dask_blackbox.report.wording import (
    CONFIDENCE,
    blame_text,
    chain_beyond_headline,
    chain_text,
    change_text,
    coverage_text,
    current_rows,
    diffs_of,
    explained_text,
    full_headline,
    good_run_text,
    habits_text,
    missing_data,
    note_texts,
    ordered_links,
    pieces,
    rarity_text,
    recurrence_text,
    retry_text,
    shown_numbers,
    sign_of,
    subject_text,
)

MOST_OF_REASONS = 8_000
"""Bytes of the reasons of a run, for those who read with little space."""

_MOST_EVIDENCE = 12
_MOST_ROWS = 20
_MOST_LINES_OF_DIFFS = 120
_MOST_CHANGES = 5
_SEVERITY = {"failure": "failure", "warning": "warning", "notice": "notice"}

# What means something in the middle of a line, and what only at its beginning.
_MARKUP = bounded(r"([\\`*\[\]|~$<>&]|(?<![^\W_])_|_(?![^\W_]))")
_OPENING = bounded(r"^(?:(\d+)(?=[.)](?:\s|$))|(?=[-+#=:]))")
_AUTOLINK = bounded(r"(?i)\b(?:https?|ftp)://|\bwww\.|@")
_UNBROKEN = bounded(r"[^\s“”]*[^\s“”,.;:]")
_NO_BREAK = bounded(r"[^\s/-]{100,}")
"""No browser breaks these: they hide what is beside a card."""
_MOST_UNBROKEN = 60
_FOR_THE_END = 100
"""Bytes for what says that lines are missing."""
_SPACES = bounded(r"\s+")
_BACKTICKS = bounded(r"`+")
_OPENS = bounded(r"https?://[^\s<>()\"'`\\|]+")


class MarkdownParts(NamedTuple):
    """The card as Markdown, in parts and in order; a part may be empty.

    Attributes:
        head: The headline, as a heading.
        identity: State, job, run and attempt.
        unrecorded: That there is no recording, and why.
        verdict: Why it failed and what to do; of a run that continues, what it waits for.
        changes: What changed since the last good run.
        evidence: Of the verdict, or of what a run that continues waits for.
        numbers: A table of the measures.
        findings: What else was found.
        missing: What the recording lacks.
        links: To the report and others.
    """

    head: str
    identity: str
    unrecorded: str
    verdict: str
    changes: str
    evidence: str
    numbers: str
    findings: str
    missing: str
    links: str


def markdown(card: CardData) -> str:
    """Return the card as GitHub-flavoured Markdown, verdict first."""
    return _joined(markdown_parts(card)) + "\n"


def markdown_parts(card: CardData) -> MarkdownParts:
    """Return the parts of the card as GitHub-flavoured Markdown."""
    recorded = card.completeness.get("recorded", True)
    missing, verdict = missing_data(card), card.verdict
    lines = "\n".join(f"- {inline(sentence)}" for sentence in missing)
    return MarkdownParts(
        head=f"## {sign_of(card)} {inline(full_headline(card))}",
        identity=(
            f"**{card.state}** · {_code(card.job)} · {_code(card.run_id)}"
            f" · attempt {card.attempt}"
        ),
        unrecorded="" if recorded else _quoted(missing),
        verdict=_joined(_unexplained(card))
        if verdict is None
        else _joined(_verdict(card, verdict)),
        changes=_joined(_changes(card)),
        evidence=_evidence(_evidence_of(card)),
        numbers=_joined(_numbers(card)),
        findings=_joined(_findings(card.findings)),
        missing=f"### Missing from the recording\n\n{lines}"
        if recorded and missing
        else "",
        links=_links(card),
    )


def markdown_reasons(
    card: CardData, rejected: Sequence[str], see: Callable[[Evidence], str]
) -> str:
    """Return why a run ended as it did, in at most `MOST_OF_REASONS` bytes.

    Args:
        rejected: Other causes, and why they were rejected, as sentences.
        see: Returns the command that shows where a piece of evidence comes from.
    """
    facts = [
        f"{_fact(each).rstrip()}\n\n  {_code(see(each))}" for each in _evidence_of(card)
    ]
    shown = "\n".join(["**Evidence** (times in UTC)", "", *facts]) if facts else ""
    others = "\n".join(f"- {inline(each)}" for each in rejected)
    parts = markdown_parts(card)._replace(evidence=shown, numbers="", links="")
    whole = _joined([*parts, f"### Rejected causes\n\n{others}" if others else ""])
    return _beginning(whole, MOST_OF_REASONS) + "\n"


def _beginning(text: str, most: int) -> str:
    """Return the lines of Markdown that fit into so many bytes, and how many are missing."""
    lines, left = text.splitlines(), most
    for number, line in enumerate(lines):
        left -= len(line.encode()) + 1
        if left < (_FOR_THE_END if number + 1 < len(lines) else 0):
            kept = lines[:number]
            # A block that is not closed would have the rest in it.
            fences = [each.strip() for each in kept if each.strip().startswith("```")]
            end = [fences[-1].removesuffix("text")] if len(fences) % 2 else []
            more = f"{len(lines) - number} more lines: `dask blackbox show --markdown`"
            return "\n".join([*kept, *end, "", more])
    return text


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part)


def _verdict(card: CardData, verdict: Finding) -> Iterator[str]:
    same = full_headline(card) == verdict.title
    yield "### Why" if same else f"### Why: {inline(verdict.title)}"
    if chain := chain_beyond_headline(card):
        yield f"**Chain:** {inline(chain_text(chain))}"
    yield _paragraphs(verdict.cause)
    if verdict.remedy:
        yield f"**What to do:** {_paragraphs(verdict.remedy)}"
    rows = [
        ("Retry", retry_text(verdict)),
        ("Confidence", CONFIDENCE[verdict.confidence]),
        ("About", subject_text(verdict.subject)),
        ("Seen", recurrence_text(card)),
    ]
    lines = [f"- **{label}** {escaped(words)}" for label, words in rows if words]
    lines += _notes(card)
    lines.append(f"- **Rule** {_code(verdict.rule)}")
    yield "\n".join(lines)


def _notes(card: CardData) -> list[str]:
    return [f"- **Note** {inline(each)}" for each in note_texts(card)]


def _unexplained(card: CardData) -> Iterator[str]:
    yield _current_state(card)
    yield "\n".join(_notes(card))


_CURRENT = {
    "now": "Now",
    "why": "Why",
    "usual": "Usual",
    "ends": "Ends",
    "do": "What to do",
}


def _current_state(card: CardData) -> str:
    rows = current_rows(card)
    return "\n".join(
        f"- **{_CURRENT[label]}** {_paragraphs(text)}" for label, text in rows
    )


def _evidence_of(card: CardData) -> tuple[Evidence, ...]:
    found = card.verdict or card.now
    return () if found is None else found.evidence


def _evidence(evidence: Sequence[Evidence]) -> str:
    """Return facts as a list, whose lines hosts' pages wrap; only tracebacks are blocks."""
    if not evidence:
        return ""
    lines = [_fact(each) for each in evidence[:_MOST_EVIDENCE]]
    if len(evidence) > _MOST_EVIDENCE:
        lines.append(f"- and {len(evidence) - _MOST_EVIDENCE} more")
    return "**Evidence** (times in UTC)\n\n" + "\n".join(lines)


def _fact(fact: Evidence) -> str:
    at = "" if fact.at is None else f"`{clock(fact.at)}` "
    text = plain(fact.text).strip()
    title, _, rest = text.partition("\n")
    if rest and not title.endswith(":"):
        title, rest = "", text
    shown = f"{at}{_escaped_inside(title) if at else escaped(title)}".strip()
    if not rest:
        return f"- {shown}"
    if not shown:
        return f"\n{_block(rest)}\n"
    block = _block(rest).replace("\n", "\n  ")
    return f"- {shown}\n\n  {block}\n"


def _changes(card: CardData) -> Iterator[str]:
    past = card.past
    blame = "" if past is None else blame_text(past)
    if not card.changes and not blame:
        return
    if card.changes:
        yield "### What changed since the last good run"
    if blame:
        yield f"**{inline(blame)}**"
    if card.changes:
        head = ("What", "Before", "Now", "How unusual")
        yield _table(head, [_changed(each) for each in card.changes[:_MOST_CHANGES]])
    rest = card.changes[_MOST_CHANGES:_MOST_ROWS]
    if rest:
        lines = "\n".join(f"- {escaped(change_text(each))}" for each in rest)
        number = len(card.changes) - _MOST_CHANGES
        omitted = len(card.changes) - _MOST_ROWS
        lines += f"\n- and {omitted} more" if omitted > 0 else ""
        yield f"<details><summary>{number} more</summary>\n\n{lines}\n\n</details>"
    diff = [line for each in card.changes for line in diffs_of(each)]
    if diff:
        block = _block("\n".join(diff[:_MOST_LINES_OF_DIFFS]))
        yield f"<details><summary>Code that changed</summary>\n\n{block}\n\n</details>"
    if past is not None:
        yield _past(past)


def _changed(change: Change) -> tuple[str, str, str, str]:
    reported = (rarity_text(change.rarity), change.why, explained_text(change))
    unusual = [each for each in reported if each]
    return (
        f"{escaped(change.kind)} {_code(change.what, in_table=True)}",
        _side(change.before, "not there"),
        _side(change.after, "gone"),
        escaped("; ".join(unusual)),
    )


def _past(past: Past) -> str:
    reported = []
    if past.last_good is not None:
        reported.append(f"compared with {good_run_text(past.last_good)}")
    reported += [coverage_text(past), habits_text(past)]
    sentence = escaped(". ".join(capital(each) for each in reported if each))
    command = f"  \n{_code(past.compare)}" if past.compare else ""
    return f"{sentence}.{command}" if sentence else ""


def _side(value: str | None, absent: str) -> str:
    return absent if value is None else _code(value, in_table=True)


def _numbers(card: CardData) -> Iterator[str]:
    measured = shown_numbers(card)
    if measured:
        rows = [(escaped(label), escaped(value)) for label, value in measured]
        yield "### In numbers"
        yield _table(("Measure", "Value"), rows)


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    if not findings:
        return
    yield "### Also found"
    for found in findings[:_MOST_ROWS]:
        body = "\n\n".join(
            part
            for part in (
                _paragraphs(found.cause),
                f"**What to do:** {_paragraphs(found.remedy)}" if found.remedy else "",
                _evidence(found.evidence),
            )
            if part
        )
        summary = f"{_SEVERITY[found.severity]}: {_in_summary(found.title)}"
        yield f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"
    if len(findings) > _MOST_ROWS:
        yield f"+{len(findings) - _MOST_ROWS} more"


def _links(card: CardData) -> str:
    lines = ["### Look further\n"] if card.links else []
    for name, address in ordered_links(card.links):
        if _OPENS.fullmatch(address):
            lines.append(f"- [{escaped(name)}](<{address}>)")
        else:
            # A browser opens neither s3:// nor file:// from a host's page.
            lines.append(f"- {escaped(name)}: {_code(address)}")
    return "\n".join(lines)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def _quoted(sentences: Sequence[str]) -> str:
    return "\n>\n".join(f"> **{inline(sentence)}**" for sentence in sentences)


def _in_summary(title: str) -> str:
    # No renderer makes code of backticks there.
    return "".join(
        f"<code>{_in_html(part)}</code>" if code else _in_html(part)
        for part, code in pieces(title.strip())
    )


def _in_html(text: str) -> str:
    """Return text for inside a tag, where some renderers see Markdown and some don't."""
    text = _SPACES.sub(" ", plain(text))
    marked = _MARKUP.sub(lambda found: f"&#{ord(found[0])};", text)
    return _AUTOLINK.sub(_unlinked, marked)


def escaped(text: str) -> str:
    """Return text on one line that renders as itself, and reads well as it is."""
    return _OPENING.sub(r"\1\\", _escaped_inside(text))


def _escaped_inside(text: str) -> str:
    """Return text in the middle of a line that renders as itself.

    What a renderer would make a link of is code: no escape prevents that everywhere.
    """
    text = _SPACES.sub(" ", plain(text)).strip()
    text = _NO_BREAK.sub(lambda found: f"{found[0][:_MOST_UNBROKEN]}…", text)
    result, end = "", 0
    for found in _UNBROKEN.finditer(text):
        if not _AUTOLINK.search(found[0]):
            continue
        result += _MARKUP.sub(r"\\\1", text[end : found.start()])
        result += _code(found[0], in_table=True)
        end = found.end()
    return result + _MARKUP.sub(r"\\\1", text[end:])


def _unlinked(found: re.Match[str]) -> str:
    return found[0].replace(":", "&#58;").replace(".", "&#46;").replace("@", "&#64;")


def _paragraphs(text: str) -> str:
    paragraphs = plain(text).strip().split("\n")
    return "  \n".join(inline(line) for line in paragraphs if line.strip())


def inline(line: str) -> str:
    """Return text on one line that renders as itself, but what is in backticks as code."""
    result = ""
    for part, code in pieces(line.strip()):
        if code:
            result += _code(part)
            continue
        # Escaping takes the spaces at both ends away.
        before = " " if result and part[:1].isspace() else ""
        after = " " if part[-1:].isspace() else ""
        # Only at its beginning does a line's first character open anything.
        result += (
            f"{before}{escaped(part) if not result else _escaped_inside(part)}{after}"
        )
    return result.strip()


def _code(text: str, *, in_table: bool = False) -> str:
    """Return text as a code span."""
    text = _SPACES.sub(" ", plain(text)).strip() or " "
    return as_code(text.replace("|", r"\|") if in_table else text)


def _block(text: str) -> str:
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"
