"""Rules are muted and tuned by settings; what the settings cannot mean is reported at once."""

from __future__ import annotations

from typing import Any

import dask
import pytest
from dask_blackbox import recording
from dask_blackbox.analyse import findings_in
from dask_blackbox.analyse.rule_settings import asking
from dask_blackbox.errors import ConfigurationError
from runs_from_rows import LIMIT, a_run, a_sample, a_worker


def found_with(**settings: Any) -> list[str]:
    """Return the rules that fire on a run whose memory came close to the limit."""
    run = a_run(a_worker(), a_sample(memory=int(0.9 * LIMIT)))
    with dask.config.set(
        {f"blackbox.rules.{name}": value for name, value in settings.items()}
    ):
        asked = asking()
    found = findings_in(run, muted=asked.muted, thresholds=asked.thresholds)
    return [each.rule for each in found]


def test_without_settings_a_rule_is_asked_with_its_own_numbers() -> None:
    assert found_with() == ["memory-near-limit"]


def test_a_finding_can_be_muted() -> None:
    assert found_with(mute=["memory-near-limit"]) == []
    assert found_with(mute="spilling, memory-near-limit") == []


@pytest.mark.parametrize(
    "numbers",
    [
        {"memory-near-limit.share": 0.95},
        {"memory-near-limit": {"share": "0.95"}},
        {"memory_near_limit.share": 0.95},
    ],
)
def test_a_number_can_be_set_however_dask_writes_its_name(
    numbers: dict[str, Any],
) -> None:
    assert found_with(thresholds=numbers) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mute": ["spillling"]}, r"no rule 'spillling' \(did you mean 'spilling'\?\)"),
        ({"mute": ["task-exception"]}, "verdicts cannot be muted"),
        ({"mute": 3}, "give a list of slugs"),
        ({"thresholds": {"memory-near-limit.shar": 1}}, "memory-near-limit.share"),
        ({"thresholds": {"memory-near-limit.share": "much"}}, "give a number"),
        ({"thresholds": ["memory-near-limit"]}, "give numbers by name"),
    ],
)
def test_what_settings_cannot_mean_is_an_error(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        found_with(**settings)


def test_a_required_recording_with_a_mistake_in_them_does_not_start(
    tmp_path: Any,
) -> None:
    with (
        dask.config.set({"blackbox.rules.mute": ["spillling"]}),
        pytest.raises(ConfigurationError, match="did you mean 'spilling'"),
        recording(store=tmp_path, job="j", required=True),
    ):
        pass


def test_a_mistake_in_them_is_on_the_card_and_the_run_is_recorded(
    tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        dask.config.set({"blackbox.rules.mute": ["spillling"]}),
        recording(store=tmp_path, job="j") as finished,
    ):
        assert "there is no rule 'spillling'" in caplog.text

    (found,) = finished.card.findings
    assert finished.card.completeness["recorded"]
    assert found.rule == "rule-failed"
    assert "there is no rule 'spillling'" in found.cause
