"""Text of the tab's pages has the contrast that WCAG asks for, in light and in dark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import airflow_dask_blackbox.tab
import pytest

CSS = Path(airflow_dask_blackbox.tab.__file__).parent / "static" / "tab.css"
TONES = ("green", "red", "blue", "amber", "violet", "soft")
LEAST = 4.5
TINT = 0.13
"""Of a tone in the background of a state's word."""


def _colours(scheme: str) -> dict[str, tuple[int, ...]]:
    """Return the colours of a scheme, by name."""
    block = next(
        each
        for each in re.findall(r":root[^{]*\{([^}]*)\}", CSS.read_text())
        if f"color-scheme: {scheme};" in each
    )
    found = re.findall(r"--(\w+): #([0-9a-f]{3,6});", block)
    wide = {name: "".join(c * 2 for c in x) if len(x) == 3 else x for name, x in found}
    return {name: tuple(bytes.fromhex(text)) for name, text in wide.items()}


def _luminance(colour: Sequence[float]) -> float:
    parts = [each / 255 for each in colour]
    red, green, blue = (
        each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4
        for each in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: Sequence[float], other: Sequence[float]) -> float:
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("tone", TONES)
def test_a_states_word_can_be_read(scheme: str, tone: str) -> None:
    colours = _colours(scheme)
    own, paper = colours[tone], colours["paper"]
    tinted = [TINT * a + (1 - TINT) * b for a, b in zip(own, paper, strict=True)]

    assert _contrast(own, tinted) >= LEAST
    assert _contrast(own, colours["sheet"]) >= LEAST


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["ink", "soft", "accent"])
def test_text_and_links_can_be_read(scheme: str, name: str) -> None:
    colours = _colours(scheme)

    for ground in ("paper", "sheet"):
        assert _contrast(colours[name], colours[ground]) >= LEAST
