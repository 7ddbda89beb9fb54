"""Shortens an answer to a number of bytes, and says in it what was left out."""

from __future__ import annotations

import json

_STEPS = ((4000, 200), (1000, 50), (400, 20), (200, 10), (100, 5), (50, 3), (20, 1))
"""Characters of a text and items of a list that may stay, from mild to severe."""


def brief(value: object, most: int) -> str:
    """Return a value as JSON of at most so many bytes, if need be shortened.

    A text that was cut ends in how many characters are missing, a list in how many items.
    Empty values are left out.
    """
    text = _json(_cut(value, *_STEPS[0]))
    for characters, items in _STEPS[1:]:
        if len(text.encode()) <= most:
            return text
        text = _json(_cut(value, characters, items))
    if len(text.encode()) <= most:
        return text
    return _json({"left_out": f"the answer is larger than {most} bytes; ask for less"})


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _cut(value: object, characters: int, items: int) -> object:
    if isinstance(value, str):
        more = len(value) - characters
        return value if more <= 0 else f"{value[:characters]}… ({more} characters more)"
    if isinstance(value, dict):
        cut = {
            name: _cut(each, characters, items)
            for name, each in value.items()
            if each is not None and each not in ("", [], (), {})
        }
        kept = dict(list(cut.items())[: items * 4])
        left = len(cut) - len(kept)
        return kept | ({"left_out": f"{left} more"} if left else {})
    if isinstance(value, list | tuple):
        shown = [_cut(each, characters, items) for each in value[:items]]
        left = len(value) - items
        return shown + ([f"… ({left} more)"] if left > 0 else [])
    return value
