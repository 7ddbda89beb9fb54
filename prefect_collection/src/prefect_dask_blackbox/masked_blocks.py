"""Secret values of the blocks that a flow or a task loads are masked in its recording.

Prefect hands out a block's `SecretStr` to whoever loads the block, and does not know where
the value goes from there: a log line, an exception, a parameter of a Dask task.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping

from dask_blackbox import mask_secret
from dask_blackbox.capture.redaction import is_secret_name, secrets_in
from dask_blackbox.guard import guard
from prefect.blocks.core import Block
from pydantic import BaseModel, Secret, SecretBytes, SecretStr

__all__ = ["follow_blocks", "secret_texts"]

_DEEPEST = 6
_LOADED = "_from_block_document"  # all ways to load a block lead there


def follow_blocks() -> None:
    """Mask the secret values of every block that is loaded in this process from now on."""
    with guard("secret values of blocks"):
        load = vars(Block)[_LOADED]
        if not hasattr(load, "_dask_blackbox"):
            followed = classmethod(_followed(load.__func__))
            followed._dask_blackbox = True  # type: ignore[attr-defined]  # noqa: SLF001
            setattr(Block, _LOADED, followed)


def _followed(load: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(load)
    def loaded(cls: type[Block], *args: object, **kwargs: object) -> object:
        block = load(cls, *args, **kwargs)
        with guard("secret values of a block"):
            mask_secret(list(secret_texts(block)))
        return block

    return loaded


def secret_texts(value: object, depth: int = _DEEPEST) -> Iterator[str]:
    """Yield what is secret in a block or in settings: by its type, or by its name.

    Args:
        value: Where to look.
        depth: Levels of models, mappings and sequences.
    """
    if isinstance(value, SecretStr | SecretBytes | Secret):
        yield from _texts(value.get_secret_value(), depth)
    elif not depth:
        return
    elif isinstance(value, BaseModel):
        # Not `model_dump`: it warns of values that were set past their type.
        for name in type(value).model_fields:
            yield from _named(name, getattr(value, name, None), depth - 1)
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _named(str(name), each, depth - 1)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from secret_texts(each, depth - 1)
    elif isinstance(value, str):
        yield from secrets_in(value)


def _named(name: str, value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str) and is_secret_name(name):
        yield value
    yield from secret_texts(value, depth)


def _texts(value: object, depth: int) -> Iterator[str]:
    """Yield every text of a value that is secret as a whole."""
    if isinstance(value, bytes):
        yield value.decode("utf-8", "replace")
    elif isinstance(value, Mapping) and depth:
        for each in value.values():
            yield from _texts(each, depth - 1)
    elif isinstance(value, list | tuple) and depth:
        for each in value:
            yield from _texts(each, depth - 1)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
