"""What the templates of an operator gave: Jinja gives text, and a cluster wants numbers, too."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from dask_blackbox.patterns import bounded

__all__ = ["native", "text_parameters"]

_TEXTS: Final = frozenset(
    [
        "account",
        "annotations",
        "env",
        "env_vars",
        "environ",
        "environment",
        "image",
        "job_name",
        "labels",
        "name",
        "namespace",
        "node_selector",
        "partition",
        "project",
        "queue",
        "tags",
        "value",
    ]
)
"""Names whose values are text, here and below, in whatever class: Kubernetes, Dask Gateway
and batch systems refuse numbers there."""
_ONE_EXPRESSION = bounded(r"\s*\{\{(?:(?!\}\})[\s\S]){0,2000}\}\}\s*")
_QUOTED = bounded(r"(['\"])\{\{[\s\S]{0,2000}\}\}\1")
_WORD = bounded(r"\w+")
_NO_TEXT: Final = frozenset(
    ["Any", "Number", "bool", "complex", "float", "int", "object"]
)


def native(
    template: Any,
    rendered: Any,
    is_text: Callable[[str], bool] = lambda _name: False,
) -> Any:
    """Return rendered arguments in which a template that gives a number, list or dict is one.

    `{"n_workers": "{{ params.size }}"}` asks for 4 workers, not for "4".  Text stays text
    where it is not what Python writes for the number (`2024.10`, `3.10`, `007`), where more
    than one expression makes it, where the argument takes text, and in quotation marks:
    `"'{{ ds_nodash }}'"`.

    Args:
        template: As the DAG file gives it.
        rendered: As Airflow has rendered it.
        is_text: Whether the argument of a name takes text.
    """
    if isinstance(template, str) and isinstance(rendered, str):
        return _value(template, rendered)
    if isinstance(template, Mapping) and isinstance(rendered, Mapping):
        return {
            name: _text(template.get(name), value)
            if name in _TEXTS or is_text(name)
            else native(template.get(name), value)
            for name, value in rendered.items()
        }
    if isinstance(template, list | tuple) and isinstance(rendered, list | tuple):
        pairs = zip(template, rendered, strict=True)
        return type(rendered)(native(each, value) for each, value in pairs)
    return rendered


def _value(template: str, rendered: str) -> Any:
    if "{{" not in template:
        return rendered
    if _QUOTED.fullmatch(template):
        return rendered[1:-1]
    try:
        value = ast.literal_eval(rendered)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return _document(rendered)
    if isinstance(value, list | Mapping):
        return value
    number = value is None or isinstance(value, int | float)
    meant = _ONE_EXPRESSION.fullmatch(template) and repr(value) == rendered
    return value if number and meant else rendered


def _text(template: Any, rendered: Any) -> Any:
    """Return what an argument that takes text got; whole lists and dicts are those, too."""
    if not (isinstance(template, str) and isinstance(rendered, str)):
        return rendered
    found = _value(template, rendered)
    if _QUOTED.fullmatch(template) or isinstance(found, list | Mapping | None):
        return found
    return rendered


def _document(text: str) -> Any:
    try:
        return json.loads(text) if text.lstrip().startswith(("{", "[")) else text
    except (ValueError, RecursionError):
        return text


def text_parameters(*functions: Callable[..., Any]) -> Callable[[str], bool]:
    """Return what says whether an argument of functions takes text, and no number.

    Their annotations say so, or else a default that is text.
    """
    annotated: dict[str, bool] = {}
    defaults: dict[str, bool] = {}
    for parameter in _parameters(functions):
        if parameter.annotation is not parameter.empty:
            words = set(_WORD.findall(_written(parameter.annotation)))
            takes = "str" in words and not words & _NO_TEXT
            annotated.setdefault(parameter.name, takes)
        else:
            defaults.setdefault(parameter.name, isinstance(parameter.default, str))
    known = defaults | annotated
    return lambda name: known.get(name, False)


def _written(annotation: object) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _parameters(functions: Iterable[Callable[..., Any]]) -> Iterable[inspect.Parameter]:
    for function in functions:
        try:
            yield from inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            continue
