"""What reads a run's texts has a limit of CPU time, also where a user wrote the pattern."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import dask
import pytest
from dask_blackbox.analyse import Budget, findings_in
from dask_blackbox.analyse.rules.worker_deaths import WORKER_MEMORY_LIMIT
from dask_blackbox.capture.redaction import BLANK
from dask_blackbox.card import RunCard
from dask_blackbox.cpu_limit import CpuLimitExceeded, cpu_limit
from dask_blackbox.driver.run_end import unrecorded_card
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.guard import guard
from dask_blackbox.manifest import DriverException, Ending
from dask_blackbox.reader import find_run
from dask_blackbox.recorder.redact import NOT_CHECKED, Redactor, exception_in_host
from dask_blackbox.settings import setting_patterns
from dask_blackbox.store import open_store
from runs_from_rows import a_run, an_exception, failed_with

EXPONENTIAL = r"(?:a|a)*b"
HOSTILE = "a" * 40 + "!"


def test_a_search_that_would_take_for_ever_ends() -> None:
    with pytest.raises(CpuLimitExceeded), cpu_limit(0.05):
        re.search(EXPONENTIAL, HOSTILE)


def test_a_guard_does_not_keep_work_going_after_its_limit() -> None:
    with pytest.raises(CpuLimitExceeded), cpu_limit(0.05), guard("a test"):
        re.search(EXPONENTIAL, HOSTILE)


def enter_and_leave(*, exceeded_at: int) -> int:
    """Enter and leave a limit that is exceeded at one of the lines that this executes.

    Returns:
        How many lines were executed while the timer ran.
    """
    reached = 0

    def trace(frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal reached
        if event == "line" and signal.getitimer(signal.ITIMER_VIRTUAL)[0]:
            reached += 1
            handle: Any = signal.getsignal(signal.SIGVTALRM)
            if reached == exceeded_at:
                handle(signal.SIGVTALRM, frame)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with cpu_limit(60):
            pass
    finally:
        sys.settrace(before)
    return reached


def test_no_timer_outlives_a_limit_that_is_exceeded_as_its_body_begins_or_ends() -> (
    None
):
    lines = enter_and_leave(exceeded_at=0)
    assert lines > 5
    for number in range(1, lines + 1):
        with suppress(CpuLimitExceeded):
            enter_and_leave(exceeded_at=number)
        assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0), number
        assert signal.getsignal(signal.SIGVTALRM) is signal.SIG_DFL


def test_a_text_that_takes_too_long_to_check_is_left_out_and_counted() -> None:
    redactor = Redactor([EXPONENTIAL], limit=0.05)

    assert redactor.text(HOSTILE) == NOT_CHECKED
    assert redactor.text("aaab and more") == f"{BLANK} and more"
    assert redactor.left_out == 1


def test_many_such_texts_take_ever_less_time() -> None:
    redactor = Redactor([EXPONENTIAL], limit=0.5)
    begun = time.process_time()

    cleaned = {redactor.text(HOSTILE) for _ in range(20)}

    assert cleaned == {NOT_CHECKED}
    assert time.process_time() - begun < 20 * 0.5 / 2


def test_a_users_pattern_never_runs_in_a_hosts_process() -> None:
    raised = DriverException(exception="builtins.ValueError", message=HOSTILE)

    assert exception_in_host(raised, [EXPONENTIAL], ()).message == NOT_CHECKED
    assert exception_in_host(raised, (), ()).message == HOSTILE


def test_rules_for_which_no_time_is_left_are_named_on_the_card() -> None:
    run = a_run(failed_with(an_exception("ValueError", "boom")))

    found = findings_in(run, budget=Budget(whole=0))

    broken = next(each for each in found if "could not run" in each.title)
    assert " rules left out, because" in broken.cause
    assert WORKER_MEMORY_LIMIT.slug in broken.evidence[0].text
    assert not [each for each in findings_in(run) if "could not run" in each.title]


def test_the_card_of_a_run_without_a_recorder_asks_no_rule() -> None:
    message = "bad input" + "\n" * 9_500 + " " * 9_500 + "end"
    raised = DriverException(exception="builtins.RuntimeError", message=message)

    card = unrecorded_card(
        a_run().manifest,
        Ending(state="failed", ended=3.0, exception=raised),
        "no answer",
    )

    assert card.headline == "Failed, not recorded: no answer"
    assert card.verdict is not None
    assert card.verdict.rule == "unknown"
    assert card.verdict.title.startswith("RuntimeError: bad input")


@pytest.mark.parametrize(
    "pattern", [EXPONENTIAL, r"(\w+)+$", r"(x+x+)+y", r"(?:\s*\s*)*;"]
)
def test_an_exponential_pattern_is_refused_when_it_is_configured(pattern: str) -> None:
    with (
        dask.config.set({"blackbox.redact": [r"badge \d+", pattern]}),
        pytest.raises(ConfigurationError, match="doubles with each letter"),
    ):
        setting_patterns("redact")


@pytest.mark.parametrize(
    "pattern",
    [r"badge \d+", r".*secret.*", r"(?i)\b(?:foo|bar)[\w-]+=\S+", r"(\w+\s)+x"],
)
def test_other_patterns_are_taken(pattern: str) -> None:
    with dask.config.set({"blackbox.redact": [pattern]}):
        assert setting_patterns("redact") == (pattern,)


_PRINTS = """
import sys
from pathlib import Path
import dask.config
from dask_blackbox import recording
from distributed import Client

# No exponential one, which would be refused: it takes the fourth power of a text's length.
dask.config.set({"blackbox.redact": ["a*a*a*a*Z"]})
with (
    Client(processes=False, n_workers=1, dashboard_address=":0") as client,
    recording(client, store=sys.argv[1], job="slow") as rec,
):
    client.submit(print, "a" * 3_000).result()
    client.submit(print, "an ordinary line").result()
Path(sys.argv[2]).write_bytes(rec.card.to_json())
"""


@pytest.mark.processes
@pytest.mark.nightly
def test_the_card_counts_the_texts_that_were_not_checked(tmp_path: Path) -> None:
    store, shown = str(tmp_path / "store"), tmp_path / "card.json"
    subprocess.run([sys.executable, "-c", _PRINTS, store, str(shown)], check=True)
    card = RunCard.from_json(shown.read_bytes())

    assert card.completeness["missing"]["recorder"] == [
        "checking texts for secrets failed: 1 text was left out, because it took too long"
    ]
    logs = find_run(open_store(store), "slow").logs["message"].to_list()
    assert NOT_CHECKED in logs
    assert "an ordinary line" in logs
