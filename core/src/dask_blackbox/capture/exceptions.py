"""Class, base classes and message of an exception, whatever its own code does."""

from __future__ import annotations

import pickle
import subprocess
import traceback

from .logs import plain
from .user_frames import is_foreign, is_ours

_MOST = 1_000  # characters
_LONGEST_ERRORS = 1_000


def qualified(kind: type) -> str:
    """Return the name of a class with its module; of a builtin, its name alone."""
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def bases_of(error: BaseException) -> list[str]:
    """Return what the class of an exception derives from, in the order Python looks.

    Up to `BaseException`; the class itself is not among them.
    """
    names: list[str] = []
    for kind in type(error).__mro__[1:]:
        if kind is not object and sum(map(len, names)) < _MOST:
            names.append(qualified(kind))
    return names


def message_of(error: BaseException) -> str:
    """Return an exception's message, whatever its `__str__` does."""
    try:
        text = str(error)
        if not text and isinstance(error, UnicodeError) and error.args:
            # On its way through pickle it lost what its text is made of, not its arguments.
            text = str(type(error)(*error.args))
        return plain(text + _errors_of_program(error))
    except Exception as problem:
        return f"<its text cannot be rendered: {type(problem).__name__}>"


def remove_own_frame(error: BaseException) -> None:
    """Take the frame of a wrapper that has caught an exception off its traceback.

    The wrapper then raises it with a bare `raise`, which adds no frame.
    """
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next


def _errors_of_program(error: BaseException) -> str:
    """Return the end of what a program that failed printed, where `subprocess` has it."""
    if not isinstance(error, subprocess.SubprocessError):
        return ""
    stderr = getattr(error, "stderr", None) or b""
    stderr = (
        stderr.decode(errors="replace") if isinstance(stderr, bytes) else str(stderr)
    )
    stderr = stderr.rstrip()[-_LONGEST_ERRORS:]
    return f"\nstderr: {stderr}" if stderr.strip() else ""


def texts(facts: dict[str, object]) -> tuple[str, str, str]:
    """Return class, message and traceback of an exception of which only texts are known."""
    text = str(facts.get("exception_text") or "")
    name, bracket, rest = text.partition("(")
    message = rest.rstrip(")").strip("'\"") if bracket else text
    return name or "Exception", message, str(facts.get("traceback_text") or "")


def scheduler_exception(pickled: bytes) -> tuple[str, str]:
    """Return class and text of an exception that this very scheduler has pickled."""
    try:
        error = pickle.loads(pickled)
    except Exception as problem:
        return "Exception", f"could not be read: {problem!r}"
    return qualified(type(error)), message_of(error)


def own_frame(error: BaseException) -> traceback.FrameSummary | None:
    """Return the innermost frame of the user's own code."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        frame
        for frame in frames
        if not (is_foreign(frame.filename) or is_ours(frame.filename))
        # Compiled libraries name their files without a folder to begin with.
        and not frame.filename.endswith((".pyx", ".pxi"))
    ]
    return own[-1] if own else (frames[-1] if frames else None)
