"""No text can stall us: the time of every pattern grows as the text does."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from dask_blackbox.analyse.explanations.explained import in_one_line
from dask_blackbox.analyse.frames import members_of_group
from dask_blackbox.capture.redaction import _SHAPES, Redaction
from dask_blackbox.patterns import MOST, bounded, bounded_text
from dask_blackbox.recorder.redact import scanner_shapes
from pattern_growth import LONG, MEDIUM, Found, growth_of, patterns_of

# They read what we or Bokeh wrote, never a text of a run.
_OF_OURS = ("report.performance._SCRIPT", "patterns._ATOM", "capture.shipping._IMPORT")


def _compiled(text: str) -> re.Pattern[str]:
    return bounded(text)


def _all_patterns() -> list[Found]:
    shapes = [shape for _, shape in _SHAPES]
    return [
        *patterns_of("dask_blackbox", _compiled),
        *(Found("a shape", re.compile(each), "finditer") for each in shapes),
        *(
            Found("the scanner", re.compile(each), "finditer")
            for each in scanner_shapes()
        ),
    ]


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_the_time_of_every_pattern_grows_as_the_text() -> None:
    found = [each for each in _all_patterns() if not each.where.endswith(_OF_OURS)]

    slow = {
        f"{each.where}: {each.pattern.pattern[:200]}": growth
        for each in found
        if (growth := growth_of(each.pattern, each.use))
    }

    assert len(found) > 400
    assert slow == {}


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:\w+\s*)+:",
        *(
            pytest.param(pattern, marks=pytest.mark.nightly)
            for pattern in (
                r"\w+=",
                r"\n?\s*(?:x|\n\s*y)",
                r"echo\s+[^|]+?(?=\s*\|\w)",
            )
        ),
    ],
)
def test_a_pattern_that_is_not_linear_is_noticed(pattern: str) -> None:
    assert growth_of(re.compile(pattern), "finditer") is not None


_TEXTS: dict[str, Callable[[int], str]] = {
    "a padded cell": lambda n: "echo" + " " * n + "|",
    "line breaks": lambda n: "bad input" + "\n" * (n // 2) + " " * (n // 2) + "end",
    "lines of blanks": lambda n: "   \n" * (n // 4),
    "dashes": lambda n: "x-" * (n // 2),
    "backslashes": lambda n: "password" + "\\" * n,
    "addresses": lambda n: "://a:b" * (n // 6),
    "options": lambda n: "htpasswd -" + "b" * n,
}


@pytest.mark.parametrize("text", _TEXTS.values(), ids=list(_TEXTS))
@pytest.mark.parametrize(
    "read", [Redaction().text, in_one_line, members_of_group], ids=lambda f: f.__name__
)
def test_long_texts_take_time_as_their_length(
    read: Callable[[str], object], text: Callable[[int], str]
) -> None:
    medium = min(_seconds(read, text(MEDIUM)) for _ in range(2))

    assert _seconds(read, text(LONG)) < 32 * medium + 0.05


def _seconds(read: Callable[[str], object], text: str) -> float:
    begun = time.thread_time()
    read(text)
    return time.thread_time() - begun


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a+b", f"a{{1,{MOST}}}b"),
        ("a*?b++c", f"a{{0,{MOST}}}?b{{1,{MOST}}}+c"),
        (r"[^*+]+\+\*", rf"[^*+]{{1,{MOST}}}\+\*"),
        (r"[]*]*x{2,}+(?P<m>.*)", rf"[]*]{{0,{MOST}}}x{{2,}}+(?P<m>.*)"),
        (r"^(?:: (?P<m>.*))?$", r"^(?:: (?P<m>.*))?$"),
    ],
)
def test_repeats_get_a_bound_but_at_the_end(pattern: str, text: str) -> None:
    assert bounded_text(pattern) == text
