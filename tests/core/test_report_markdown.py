"""The card as Markdown, as a host's page renders it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import msgspec
import pytest
from dask_blackbox.analyse import findings_in
from dask_blackbox.analyse.frames import end_of
from dask_blackbox.card import RunCard, card_of
from dask_blackbox.finding import Change, Evidence, Finding
from dask_blackbox.formatting import as_code
from dask_blackbox.report import html, markdown, text
from dask_blackbox.report.wording import pieces, prose
from markdown_it import MarkdownIt
from runs_from_rows import (
    a_log_line,
    a_run,
    a_worker,
    an_exception,
    failed_with,
    raised_in,
)

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "![](https://evil.example/pixel.png)",
    "https://evil.example/ www.evil.example me@evil.example",
    "# heading",
    "- item",
    "1. item",
    "```\n</details><b>out</b>",
    "`code` ``two`` | cell | --- |",
    "**bold** _italics_ ~~gone~~ <b>b</b>",
    "line\n\n---\n\n> quote",
    "&lt;script&gt; &amp;",
    "</summary></details><h1>x</h1>",
]


class _Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.text += data


def rendered(card: RunCard) -> _Seen:
    renderer = MarkdownIt("commonmark", {"html": True}).enable(
        ["table", "strikethrough"]
    )
    seen = _Seen()
    seen.feed(renderer.render(markdown(card)))
    return seen


def a_card_that_says(words: str) -> RunCard:
    finding = Finding(
        rule="task-exception",
        title=words,
        cause=words,
        severity="failure",
        confidence="high",
        remedy=words,
        evidence=(Evidence(text=words, source="logs", at=1.0),),
    )
    return RunCard(
        job=words,
        run_id=words,
        state="failed",
        headline=words,
        verdict=finding,
        findings=(finding,),
        changes=(Change(kind="parameters", what=words, before=words, after=None),),
        numbers={"tasks": 3},
        completeness={"recorded": True, "complete": False, "missing": {"x": [words]}},
        links={"report": "https://host.example/report?a=1&b=2", "dashboard": words},
    )


@pytest.mark.parametrize("words", HOSTILE)
def test_what_the_run_said_stays_text(words: str) -> None:
    # Facts of several lines are shown as blocks.
    plain = "plain\nwords" if "\n" in words else "plain words"
    harmless = rendered(a_card_that_says(plain))

    seen = rendered(a_card_that_says(words))

    assert seen.tags.count("br") >= harmless.tags.count("br")
    # What stands between backticks is code, which shows what is in it.
    assert [t for t in seen.tags if t not in ("br", "code")] == [
        t for t in harmless.tags if t not in ("br", "code")
    ]
    assert seen.links == ["https://host.example/report?a=1&b=2"]


@pytest.mark.parametrize("words", [words for words in HOSTILE if "\n" not in words])
def test_what_the_run_said_is_all_there(words: str) -> None:
    seen = " ".join(rendered(a_card_that_says(words)).text.split())

    # What stands between backticks is code in sentences.
    assert sum(seen.count(each) for each in {words, words.replace("`", "")}) >= 12


def test_code_in_the_title_of_a_finding_is_code() -> None:
    card = a_card_that_says("`load(path)` raised <b>, as `a & b` did")

    (found,) = re.findall(r"<summary>failure: (.*)</summary>", markdown(card))

    code = "<code>load(path)</code> raised &#60;b&#62;, as <code>a &#38; b</code> did"
    assert found == code


def test_only_what_a_browser_opens_is_a_link() -> None:
    card = RunCard(
        job="nightly",
        run_id="run-1",
        state="succeeded",
        headline="Succeeded",
        links={
            "report": "https://host.example/r",
            "recording": "s3://bucket/runs/r",
            "logs": "file:///tmp/logs",
            "dashboard": "javascript:alert(1)",
        },
    )

    assert rendered(card).links == ["https://host.example/r"]
    assert "`s3://bucket/runs/r`" in markdown(card)


def test_the_verdict_comes_first_and_a_missing_recording_before_it() -> None:
    card = a_card_that_says("the reason")
    lost = RunCard(
        job="j", run_id="r", state="failed", headline="h", verdict=card.verdict,
        completeness={"recorded": False, "reason": "the bucket said no"},
    )  # fmt: skip

    rendered = markdown(lost)

    assert rendered.index("the bucket said no") < rendered.index("Why: the reason")
    order = [markdown(card).index(part) for part in ("### Why", "What changed", "Evid")]
    assert order == sorted(order)


def test_a_block_of_evidence_has_its_title_before_it() -> None:
    card = a_card_that_says("the reason")
    assert card.verdict is not None
    stack = Evidence(text="The stack of 'a':\nnightly.py:7 in a", source="logs", at=0.0)
    verdict = msgspec.structs.replace(card.verdict, evidence=(stack,))

    rendered = markdown(msgspec.structs.replace(card, verdict=verdict))

    title = "- `00:00:00.000` The stack of 'a':\n\n  ```text\n"
    assert f"{title}  nightly.py:7 in a\n  ```" in rendered


def test_a_title_that_is_the_headline_is_not_repeated() -> None:
    card = a_card_that_says("the reason")
    assert card.verdict is not None
    whole = msgspec.structs.replace(card, headline=card.verdict.title)
    cut = msgspec.structs.replace(card, headline=f"{card.verdict.title[:5]}…")
    other = msgspec.structs.replace(card, headline="Recorded in part")

    assert "### Why\n" in markdown(whole)
    assert markdown(cut) == markdown(whole)
    assert f"### Why: {card.verdict.title}" in markdown(other)


def test_what_stands_around_an_address_is_no_part_of_it() -> None:
    rendered = markdown(a_card_that_says("It printed “see http://host:8787/status”."))
    other = markdown(a_card_that_says("No answer of http://db/x, at etl.py:3"))

    assert "“see `http://host:8787/status`”." in rendered
    assert "No answer of `http://db/x`, at etl.py:3" in other


def test_an_address_in_a_log_line_does_not_become_a_link() -> None:
    rendered = markdown(
        a_card_that_says("see https://evil.example/x or www.evil.example")
    )

    bare = re.sub(r"```.*?```|`[^`\n]*`", "", rendered, flags=re.DOTALL)
    assert "https://evil" not in bare
    assert "www.evil" not in bare
    assert "https://evil" in rendered  # in code, where it is only shown


@pytest.mark.parametrize(
    "code", ["x", "run(`a` + ``b``)", "`a`", "```", "f(`|`) <b>", "a `b"]
)
def test_a_line_of_code_stays_one_piece_whatever_it_is(code: str) -> None:
    cause = f"It was at shop.py:3 ({as_code(code)}), `twice`."

    shown = rendered(a_card_that_says(cause))

    assert f"It was at shop.py:3 ({code}), twice." in shown.text
    assert list(pieces(cause))[1::2] == [(code, True), ("twice", True)]


def test_backticks_of_a_message_take_no_line_of_code_apart() -> None:
    cause = f"It raised E: a ` `` ``` b, at shop.py:3 ({as_code('raise E(x)')})."

    assert [code for code, is_code in pieces(cause) if is_code] == ["raise E(x)"]


def test_what_no_browser_breaks_is_cut() -> None:
    shown = rendered(a_card_that_says(f"cannot read {'y' * 300}")).text

    assert f"cannot read {'y' * 60}… " in " ".join(shown.split("\n"))
    path = "/".join(["long-folder"] * 30)
    assert path in rendered(a_card_that_says(f"cannot read {path}")).text


def test_what_one_could_type_is_code_in_every_rendering() -> None:
    rendered = (
        "Set `retries=3` on <it>: `client.submit(f, retries=3)`, or `a|b` and 3` more."
    )

    page = markdown(a_card_that_says(rendered))
    assert "Set `retries=3` on \\<it\\>: `client.submit(f, retries=3)`, or" in page
    assert prose(rendered) == (
        "Set <code>retries=3</code> on &lt;it&gt;: "
        "<code>client.submit(f, retries=3)</code>, or <code>a|b</code> and 3` more."
    )
    assert "<script>" not in prose("`<script>alert(1)</script>`")


def test_a_traceback_that_is_cut_begins_with_a_frame() -> None:
    lines = ["Traceback (most recent call last):"]
    for number in range(5):
        lines += [f'  File "a{number}.py", line 1, in f', "    g()", "    ^^^"]
    lines.append("ValueError: no")

    assert end_of("\n".join(lines)).splitlines()[0] == '  File "a3.py", line 1, in f'


def test_an_exception_without_frames_is_not_shown_twice() -> None:
    error = an_exception("FailedRun", "no", traceback="prefect.FailedRun: no\n")
    [found] = findings_in(a_run(a_worker(), failed_with(error)))

    assert [each.text for each in found.evidence] == ["The driver raised FailedRun: no"]


TURNING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_no_text_of_a_run_can_turn_the_direction_of_what_is_shown() -> None:
    """`gnp.exe` must not be shown as `exe.png`, wherever the words came from."""
    rendered = f"left{TURNING}right"
    run = a_run(
        a_worker(rendered, name=rendered),
        raised_in(
            f"load{TURNING}-1", an_exception("ValueError", rendered), worker=rendered
        ),
        a_log_line(rendered, at=9, role="worker", source=rendered),
    )
    findings = findings_in(run)
    card = card_of(run, findings)
    by_hand = a_card_that_says(rendered)

    shown = [
        card.headline,
        *(f.title + f.cause + f.remedy for f in findings),
        *(each.text for f in findings for each in f.evidence),
        *(write(each) for write in (text, markdown) for each in (card, by_hand)),
        html(run, card),
    ]
    assert [one for one in shown if set(one) & set(TURNING)] == []
    assert "left" in card.headline


def test_the_title_of_another_finding_is_shown_as_it_is() -> None:
    title = "1 task of 'ratio<script>|x & y_' failed"
    notice = Finding(
        rule="task-exception",
        title=title,
        cause="It divided by zero.",
        severity="notice",
        confidence="high",
        remedy="",
        evidence=(),
    )
    card = msgspec.structs.replace(a_card_that_says("x"), findings=(notice,))

    assert f"notice: {title}" in rendered(card).text
