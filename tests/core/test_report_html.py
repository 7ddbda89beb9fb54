"""`report.html`: complete without script, nothing in it but what we wrote, honest about its bounds."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import msgspec
import pytest
from dask_blackbox.analyse import findings_in
from dask_blackbox.analyse.core_seconds import phases_of, time_bar_of
from dask_blackbox.card import RunCard, card_of
from dask_blackbox.finding import ChainStep, Finding
from dask_blackbox.job_history import Past
from dask_blackbox.manifest import SourceAccount
from dask_blackbox.report import html, placeholder_html
from dask_blackbox.run_tables import RunTables
from runs_from_rows import (
    LIMIT,
    MIB,
    START,
    a_death,
    a_failed_task,
    a_graph,
    a_log_line,
    a_run,
    a_sample,
    a_task,
    a_worker,
    aborted,
    an_event,
    an_exception,
    failed_with,
    succeeded,
)

HOSTILE = (
    "</script><script>window.owned=1</script><img src=x onerror='window.owned=2'>"
    "\"'><svg/onload=alert(1)> <!-- ]]> \u2028 {{ 7*7 }}"
)


_NOT_READ = ("script", "style", "nav", "title")


class _Page(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = self._inside or (tag if tag in _NOT_READ else "")

    def handle_endtag(self, tag: str) -> None:
        self._inside = "" if tag == self._inside else self._inside

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts.append(data)
        elif not self._inside:
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def a_failed_run(words: str = "harmless") -> RunTables:
    return a_run(
        an_event("scheduler-info", at=0, address="tcp://s", dask="1", config={words: words}),
        an_event("driver-attached", at=0, argv=[words], packages={"pandas": "2"}),
        a_worker("tcp://w1", memory_limit=LIMIT, name=words),
        a_worker("tcp://w2", pid=2),
        a_graph(),
        a_task("load-1", start=3),
        a_task(f"({words}, 3)", start=4, outcome="erred"),
        a_failed_task(f"({words}, 3)", "ValueError", words, traceback=f"Traceback\n{words}"),
        a_sample(at=4, memory=300 * MIB),
        a_sample(at=5, memory=390 * MIB),
        a_log_line(words),
        a_death(
            "tcp://w1", exit_code=-9, at=12, executing=[words], stack=words, lines=[words],
            memory=[(8, 300 * MIB), (11, 390 * MIB)],
        ),
        failed_with(
            an_exception(words, words, traceback=words, key=words),
            sources={"scheduler tcp://s": SourceAccount(batches=2, first=1, last=2)},
        ),
    )  # fmt: skip


def page_of(run: RunTables) -> _Page:
    return _Page(html(run, card_of(run, ())))


def test_a_chain_that_is_the_headline_and_the_end_is_left_out() -> None:
    run = a_failed_run()
    card = card_of(run, findings_in(run))
    end = ChainStep(text="the run failed")
    headline = ChainStep(text=card.headline)

    def shows_chain(*steps: ChainStep) -> bool:
        page = html(run, msgspec.structs.replace(card, chain=steps))
        return '<ol class="chain">' in page

    assert card.verdict is not None
    assert not shows_chain()
    assert not shows_chain(headline, end)
    assert shows_chain(ChainStep(text="a worker died"), end)
    assert shows_chain(headline, ChainStep(text="Dask gave up"), end)


def test_whatever_the_run_said_adds_no_element_and_no_attribute() -> None:
    harmless, hostile = page_of(a_failed_run()), page_of(a_failed_run(HOSTILE))

    def shape(page: _Page) -> list[tuple[str, list[str]]]:
        return [(tag, sorted(attrs)) for tag, attrs in page.tags]

    assert shape(hostile) == shape(harmless)
    assert "{{ 7*7 }}" in hostile.words


def test_nothing_is_fetched_and_only_our_script_may_run() -> None:
    page = page_of(a_failed_run(HOSTILE))

    (policy,) = [
        a["content"] or ""
        for t, a in page.tags
        if a.get("http-equiv") == "Content-Security-Policy"
    ]
    data, script = page.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not [a for _, a in page.tags if "style" in a]
    sources = [a["src"] or "" for _, a in page.tags if "src" in a]
    assert [source[:15] for source in sources] == ["data:image/png;"]
    assert not [t for t, _ in page.tags if t in ("link", "iframe", "object", "base")]
    assert json.loads(data)["timeline"]["prefixes"]


def test_the_verdict_comes_before_everything_else() -> None:
    verdict = Finding(
        rule="task-exception",
        title="The reason",
        cause="the cause",
        severity="failure",
        confidence="high",
        remedy="the remedy",
    )
    card = RunCard(
        job="j", run_id="r", state="failed", headline="It failed", verdict=verdict
    )

    words = _Page(html(a_failed_run(), card)).words

    parts = ("It failed", "The reason", "the cause", "the remedy", "What happened")
    places = [words.index(part) for part in (*parts, "All 2 log line")]
    assert places == sorted(places)


def test_a_death_is_reported_with_signal_memory_and_what_was_running() -> None:
    words = page_of(a_failed_run("wheel")).words

    assert "1 worker died" in words
    assert "killed by signal 9 (SIGKILL)" in words
    assert "peak 390 MiB of 400 MiB" in words
    assert "Running at that time: wheel for 1.0 s" in words


def test_a_run_that_failed_before_any_graph_shows_the_drivers_exception() -> None:
    run = a_run(
        failed_with(
            an_exception(
                "FileNotFoundError", "no files", traceback="Traceback: at main"
            )
        )
    )

    words = page_of(run).words

    assert "No task, worker or measurement" in words
    assert "Traceback: at main" in words


def test_an_unrecorded_run_reports_it_at_the_top() -> None:
    run = a_run(failed_with(an_exception("ValueError", "x")), recorded=False)
    card = card_of(run, (), recorded=False, reason="the bucket denies PutObject")

    words = _Page(html(run, card)).words

    assert words.index(
        "Not recorded. This run was not recorded: the bucket denies PutObject"
    ) < words.index("What happened")


def test_a_recording_without_an_end_reports_it() -> None:
    rows = a_run(a_worker(), a_task(), aborted())
    run = RunTables(
        rows.manifest,
        None,
        {n: getattr(rows, n) for n in ("tasks", "errors", "logs", "metrics", "events")},
        last_heartbeat=START + 9,
        damaged={"a.seg": "checksum differs"},
    )

    words = page_of(run).words

    assert "no process was left to report how the run ended" in words
    assert "a.seg is damaged: checksum differs" in words
    assert "last seen at" in words


def test_failures_among_many_log_lines_are_kept_and_the_rest_is_counted() -> None:
    lines = [a_log_line(f"chatter {n}", at=n / 100, level=20) for n in range(3_000)]
    run = a_run(a_worker(), lines, a_log_line("the one warning", at=2.0, level=30))

    page = _Page(html(run, card_of(run, ()), logs_limit=100))

    rows = [attrs for tag, attrs in page.tags if tag == "tr" and "data-level" in attrs]
    assert len(rows) == 100
    assert "Showing 100 of 3,001 log lines: all failures and warnings" in page.words
    assert "the one warning" in page.words
    assert "chatter 2999" in page.words


def test_an_enormous_log_line_is_cut_and_reports_it() -> None:
    run = a_run(a_log_line("a" * 50_000 + "the end"))

    words = page_of(run).words

    assert "more characters …" in words
    assert "the end" in words


def test_packages_that_differ_between_roles_come_first() -> None:
    run = a_run(
        an_event("scheduler-info", packages={"pandas": "3", "numpy": "2"}),
        an_event("driver-attached", packages={"pandas": "2", "numpy": "2"}),
    )

    assert (
        "1 package differs between driver, scheduler and workers" in page_of(run).words
    )


def test_retried_attempts_are_listed_among_the_errors() -> None:
    alike = [
        a_failed_task("load-1", "OSError", f"try {n}", at=n, outcome="retried")
        for n in range(30)
    ]

    words = page_of(a_run(a_worker(), alike)).words

    assert "30 retried OSError in load" in words
    assert "+10 more like these" in words


def test_the_placeholder_reloads_itself_and_needs_no_script() -> None:
    card = RunCard(
        job=HOSTILE,
        run_id="r",
        state="running",
        headline=HOSTILE,
        links={"dashboard": "http://127.0.0.1:8787", "x": "javascript:alert(1)"},
    )

    page = _Page(placeholder_html(card))

    assert [a for _, a in page.tags if a.get("http-equiv") == "refresh"]
    assert page.scripts == []
    assert [a["href"] for t, a in page.tags if t == "a"] == ["http://127.0.0.1:8787"]


@pytest.mark.parametrize("name", ["tasks", "events", "metrics", "logs", "errors"])
def test_a_recording_without_one_of_its_tables_still_gives_a_page(name: str) -> None:
    run = a_failed_run()
    frames = {
        n: getattr(run, n) for n in ("tasks", "errors", "logs", "metrics", "events")
    }
    frames[name] = frames[name].clear()

    page = page_of(RunTables(run.manifest, run.ending, frames))

    assert re.search("Completeness", page.words)


def test_links_of_a_page_that_is_kept_hold_no_signature() -> None:
    signed = "https://bucket.example/report.html?X-Amz-Signature=0a1b2c"
    links = {"report": signed, "dashboard": signed, "recording": "s3://bucket/runs/"}
    run = a_run(failed_with())

    page = html(run, card_of(run, (), links=links))

    assert "Signature" not in page
    assert 'href="report.html"' in page
    assert 'href="https://bucket.example/report.html"' in page


def test_what_leads_elsewhere_opens_a_page_of_its_own() -> None:
    run = a_failed_run()
    page = {"kind": "airflow", "url": "https://airflow.example/dags/etl"}
    manifest = msgspec.structs.replace(run.manifest, host=page)
    frames = {
        n: getattr(run, n) for n in ("tasks", "errors", "logs", "metrics", "events")
    }
    run = RunTables(manifest, run.ending, frames)
    card = msgspec.structs.replace(
        card_of(run, ()), links={"finding": "https://docs.example/finding"}
    )

    for shown in (html(run, card), placeholder_html(card)):
        elsewhere = [
            attributes
            for tag, attributes in _Page(shown).tags
            if tag == "a" and str(attributes.get("href")).startswith("http")
        ]
        assert elsewhere
        assert {each["target"] for each in elsewhere} == {"_blank"}
    assert "its page in Airflow" in html(run, card)


def test_a_run_that_succeeded_with_deaths_does_not_look_like_any_good_one() -> None:
    run = a_run(a_worker(), a_death(exit_code=-9, at=3))

    page = html(run, card_of(run, ()))

    assert "succeeded, with 1 death</span>" in page
    assert '<header class="masthead marred">' in page


def test_deaths_that_are_alike_are_reported_once() -> None:
    deaths = [
        a_death(
            f"tcp://w{n}", pid=n, exit_code=code, at=10 + n, executing=[f"join-{n}"]
        )
        for n, code in enumerate((-9, -9, -9, -9, -11))
    ]
    workers = [a_worker(f"tcp://w{n}", pid=n, name=f"w{n}") for n in range(5)]
    run = a_run(workers, *deaths, failed_with(at=20))

    page = html(run, card_of(run, ()))

    assert "5 workers died" in page
    assert page.count('<article class="death"') == 2
    assert "<b>3 more workers</b> died like this" in page


def test_the_least_time_of_the_work_is_given_for_more_threads_too() -> None:
    run = a_run(
        a_worker("tcp://w1", nthreads=2),
        a_graph(at=3),
        *(a_task(f"inc-{i}", start=3 + 2 * i, compute=2) for i in range(5)),
        an_event("scheduler-closing", at=14, reason="close"),
    )
    bounds = time_bar_of(run)

    assert bounds is not None
    assert bounds.bounds is not None
    assert bounds.bounds._replace(threads=round(bounds.bounds.threads, 6)) == (
        10.0, 2.0, 5.0, 2.0, None, [(2, 2.5), (4, 2.0)],
    )  # fmt: skip
    assert (
        "this work would take at least 5.0 s; with 2 times as many, 2.5 s"
        in page_of(run).words
    )


@pytest.mark.parametrize(
    ("joined", "grew"),
    [
        pytest.param(9.0, True, id="the second worker comes late"),
        pytest.param(3.2, False, id="it comes as the work begins"),
    ],
)
def test_the_time_in_which_a_cluster_grew_is_a_phase_of_the_run(
    joined: float, *, grew: bool
) -> None:
    run = a_run(
        a_worker("tcp://w1", nthreads=1),
        a_worker("tcp://w2", nthreads=3, at=joined, pid=101),
        a_graph(at=3),
        a_task("load-1", start=3, compute=8),
        a_task("load-2", start=11, compute=1),
        succeeded(at=14),
    )

    said = "6.0 s while the cluster grew from 1 to 4 threads"
    assert (said in page_of(run).words) is grew
    assert sum(seconds for _, seconds in phases_of(run)) == pytest.approx(14)


def test_tasks_that_wait_for_each_other_bound_the_time_of_the_work() -> None:
    run = a_run(
        a_worker("tcp://w1", nthreads=4),
        a_graph(at=3),
        a_task("load-1", start=3, compute=4, last_input=""),
        a_task("load-2", start=3, compute=1, last_input=""),
        a_task("join-1", start=8, compute=2, last_input="load-1"),
        an_event("scheduler-closing", at=14, reason="close"),
        succeeded(at=14),
    )
    bar, page = time_bar_of(run), page_of(run).words

    assert "that the whole run took: " in page
    assert " until the first task began" in page
    assert bar is not None
    assert bar.bounds is not None
    assert bar.bounds.least == 6.0
    assert bar.bounds.more == [(2, 6.0), (4, 6.0)]
    assert (
        "The longest chain of tasks that waited for each other: 2 tasks, which executed "
        "for 6.0 s in 7.0 s; no number of threads makes that shorter" in page
    )
    assert "Which task waited for which was not recorded" not in page


def test_a_first_run_reports_it_in_a_line() -> None:
    past = Past(summary="This is the first recorded run of this job.")
    run = a_run(failed_with())
    card = msgspec.structs.replace(card_of(run, ()), past=past)

    page = html(run, card)

    assert "This is the first recorded run of this job." in page
    assert 'id="changed"' not in page


def test_results_that_went_between_workers_are_a_map_and_a_table() -> None:
    run = a_run(
        a_worker("tcp://10.0.0.1:1", at=0, name="one"),
        a_worker("tcp://10.0.0.2:1", at=0, name="two"),
        an_event(
            "scheduler-load",
            at=5,
            bandwidth=[["tcp://10.0.0.2:1", "tcp://10.0.0.1:1", 3 * MIB]],
        ),
        succeeded(),
    )

    page = html(run, card_of(run, ()))

    assert "one to two: 3.00 MiB per second" in page
    assert "<tr><td>one</td><td>two</td>" in page
