"""What the text of a traceback says: the user's own line, and the root of a chain."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from dask_blackbox.analyse.signatures.distributed import LONG_MESSAGE_CUT
from dask_blackbox.capture.user_frames import is_console_script, is_foreign, is_ours
from dask_blackbox.formatting import as_code, class_of, code_line, short
from dask_blackbox.manifest import DriverException
from dask_blackbox.patterns import bounded

_FRAME = bounded(r'^[\s|]*File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>.+)$')
EXCEPTION_LINKS = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
"""What Python prints between the tracebacks of exceptions that are chained."""
_TRACEBACK = "Traceback (most recent call last):"
_RAISED = bounded(r"^(?P<name>[A-Za-z_][\w.]*)(?::\s?(?P<message>.*))?$")
_MEMBER = bounded(r"^\s*\| (?P<name>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")
_NEXT_MEMBER = bounded(r"^[ \t|]*\+-[+-]*(?<=-) (?:\d+|\.\.\.) -+[ \t]*$", re.MULTILINE)
_STACKED = bounded(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<name>.+)$')
_LAST_LINES = 8
_LOOKUPS = ("KeyError", "IndexError", "StopIteration")
"""What says only what was not found, and not where."""
_RAISES = bounded(r"raise\b|(?:sys\.)?exit\(")
_THREAD = bounded(
    r"^(?:Current thread|Thread) (?:0x)?(?P<ident>[0-9a-fA-F]*)", re.MULTILINE
)
_CURRENT = bounded(r"^Current thread ", re.MULTILINE)
_COMPUTE, _SCHEDULES = "dask/base.py", "schedule("
_CLIENT = ("distributed/client.py", "distributed/utils.py")
_REQUESTING = (*_CLIENT, "distributed/utils_comm.py", "distributed/core.py")
_SERVERS = ("distributed/scheduler.py", "distributed/worker.py", "distributed/nanny.py")
_READER = "distributed/protocol/core.py"
_CLUSTER = "distributed/deploy/spec.py"
_OWN_TIMEOUTS = (
    "/concurrent/futures/",
    "/asyncio/tasks.py",
    "/asyncio/timeouts.py",
    "/threading.py",
)
_OF_DASK = ("/distributed/", "/dask/", "/airflow/", "/prefect", "/dask_blackbox/")
_WAITING = (
    "/threading.py",
    "/selectors.py",
    "/asyncio/",
    "/concurrent/futures/",
    "/socket.py",
    "/ssl.py",
    "/subprocess.py",
    "/multiprocessing/connection.py",
)
"""Files of the functions in which a thread waits for something else."""
_WAITS = ("/threading.py", "/selectors.py", "/asyncio/base_events.py")
_WAITING_FILES = (*_WAITS, _CLUSTER)
_STARTS = "_correct_state_internal"
_CLOSES = frozenset({"_close"})
_COMPILED = (".pyx", ".pxi", ".pxd")  # libraries' Cython names its files like this
_STEPS = 4
_RUNS_TASKS = "_run_task"


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One line of code that a traceback went through."""

    file: str
    line: int
    function: str
    code: str = ""

    def __str__(self) -> str:
        return f"{code_line(self)} in {self.function}"


def at_frame(frame: Frame | None) -> str:
    """Return the clause `, at etl.py:9 in load`; empty where no line is known."""
    return f", at {frame}" if frame else ""


def code_of(frame: Frame | None, longest: int = 80) -> str:
    """Return the code of a line in brackets, after a space; empty where it is not known."""
    return f" ({as_code(short(frame.code, longest))})" if frame and frame.code else ""


def end_of(traceback: str) -> str:
    """Return the last lines of a traceback, from the beginning of a frame on.

    Nothing of an exception without frames, which is its class and message again.
    """
    lines = traceback.strip().splitlines()[-_LAST_LINES:]
    if len(lines) == 1:
        return ""
    begins = ("  File ", "Traceback ")
    first = next((n for n, line in enumerate(lines) if line.startswith(begins)), 0)
    return "\n".join(lines[first:])


def user_frame(traceback: str) -> Frame | None:
    """Return the innermost frame of the user's own code, or None.

    Of chained exceptions the last one counts, as it is the one that was raised; the
    earlier ones are asked only where it never went through the user's code.
    """
    own = user_frames(traceback)
    return own[-1] if own else None


def user_frames(traceback: str) -> tuple[Frame, ...]:
    """Return the frames of the user's own code, the innermost last.

    Of chained exceptions the last one counts that went through the user's code.
    """
    for section in reversed(_sections(traceback)):
        own = tuple(frame for frame in _frames(section) if is_the_users(frame))
        if own:
            return own
    return ()


def root_of_chain(traceback: str) -> tuple[str, str] | None:
    """Return class and message of the first exception of a chain; None if it is alone.

    Where a library's function catches what it did not find, and raises what that
    means, the second one is the first that says something.
    """
    sections = _sections(traceback)
    if len(sections) < 2:  # noqa: PLR2004 - one and its reason
        return None
    while len(sections) > 1 and _says_the_same_better(sections[0], sections[1]):
        del sections[0]
    return raised_at_end(sections[0])


def _says_the_same_better(first: str, second: str) -> bool:
    """Return whether a library's function replaced its own failed lookup by an error."""
    raised, frames = raised_at_end(first), _frames(first)
    if raised is None or raised[0] not in _LOOKUPS or not frames:
        return False
    then = _frames(_stack(second))
    inner = frames[-1]
    return (
        not is_the_users(inner)
        and bool(then)
        and (then[-1].file, then[-1].function) == (inner.file, inner.function)
    )


def cause_of_last(traceback: str) -> tuple[str, str] | None:
    """Return class and message of what the last exception was raised for, or None."""
    sections = _sections(traceback)
    return raised_at_end(sections[-2]) if len(sections) > 1 else None


def failed_while_handling(traceback: str) -> tuple[str, str] | None:
    """Return class and message of what a function was handling as it failed again, or None.

    A `finally:` or `except:` that uses what the first error left unset: the second
    error is a mistake in handling the first, not one that was raised on purpose.
    """
    first, link, second = traceback.rpartition(EXCEPTION_LINKS[1])
    if not link or EXCEPTION_LINKS[0] in second or raised_on_purpose(second):
        return None
    last = last_frame(second)
    if last is None or not is_the_users(last):
        return None
    inner = _frames(_sections(first)[-1]) if first.strip() else []
    here = (last.file, last.function)
    if here not in [(each.file, each.function) for each in inner]:
        return None
    return raised_at_end(_sections(first)[-1])


def without_last_exception(traceback: str) -> str:
    """Return what was printed of an exception's chain before the last exception."""
    return "\n".join(_sections(traceback)[:-1])


def raised_at_end(section: str) -> tuple[str, str] | None:
    """Return class and message of what a text ends with having raised, or None."""
    after = section[len(_stack(section)) :] if _TRACEBACK in section else ""
    for text in (*after.splitlines()[:1], *reversed(section.splitlines())):
        found = _RAISED.match(text)
        if found:
            return found["name"], (found["message"] or "").strip()
    return None


_ENDLESS = 3
"""How often Python prints a line that repeats, before it only counts."""


def endless_calls_in(traceback: str) -> tuple[Frame, ...]:
    """Return the frames of the functions that called each other until Python's limit, once each.

    Those of the last RecursionError of a chain; none if there is none, or nothing repeats.
    """
    for section in reversed(_sections(traceback)):
        raised = raised_at_end(section)
        # Of one that cannot be pickled, Dask sends the text, in an `Exception`.
        if raised is None or "RecursionError" not in f"{raised[0]} {raised[1][:30]}":
            continue
        times = Counter(_frames(section))
        return tuple(each for each, often in times.items() if often >= _ENDLESS)
    return ()


def raised_in(traceback: str) -> tuple[tuple[str, str], ...]:
    """Return class and message of each exception of a chain, and of the members of groups."""
    chain = filter(None, map(raised_at_end, _sections(traceback)))
    return (*chain, *members_of_group(traceback))


def traceback_in(message: str) -> str:
    """Return the traceback that a message holds, of an exception that it is about; or nothing."""
    _, header, rest = message.partition(_TRACEBACK)
    return header + rest


def _stack(section: str) -> str:
    """Return a text up to where its last traceback ends and the exception is printed.

    The message of an exception may hold frames and tracebacks of its own.
    """
    stack, header, rest = section.rpartition(_TRACEBACK)
    lines = rest.splitlines(keepends=True)
    end = next(
        (n for n, line in enumerate(lines) if n and _RAISED.match(line)), len(lines)
    )
    return stack + header + "".join(lines[:end])


def without_traceback(message: str) -> str:
    """Return a logged message with only the exception of its traceback, if it has one."""
    head, _, traceback = message.partition(_TRACEBACK)
    raised = raised_at_end(traceback)
    if raised is None:
        return message
    return ": ".join(each for each in (head.strip(), *raised) if each)


def members_of_group(traceback: str) -> tuple[tuple[str, str], ...]:
    """Return class and message of each exception in a group, as Python prints them."""
    found = []
    for block in _NEXT_MEMBER.split(traceback)[1:]:
        raised = [m for m in map(_MEMBER.match, block.splitlines()) if m]
        if raised:
            first = raised[0]
            found.append((first["name"], (first["message"] or "").strip()))
    return tuple(found)


def came_from_a_task(traceback: str) -> bool:
    """Return whether a driver's traceback continues in code that ran on a worker.

    Dask joins the two: what follows the client's own frames happened in a task.
    """
    if read_by_the_driver(traceback):
        return False
    for section in reversed(_sections(traceback)):
        frames = _frames(section)
        client = _places(frames, _CLIENT)
        after = frames[client[-1] + 1 :] if client else []
        own = [n for n, frame in enumerate(after) if is_the_users(frame)]
        # Else a signal's handler raised in the middle of a wait, or it is code that the
        # cluster object calls in the driver's own process.
        if own and not any(f.file.endswith(_WAITING_FILES) for f in after[: own[0]]):
            return True
    return False


def came_from_a_local_task(traceback: str) -> bool:
    """Return whether a traceback continues in a task that the driver's process itself ran.

    Without a client, Dask runs tasks in threads or processes of the driver, and leaves its
    own frames out of the traceback, but the one of `compute` that begins it.
    """
    for section in reversed(_sections(traceback)):
        frames = _frames(section)
        begun = [n for n in _places(frames, _COMPUTE) if _SCHEDULES in frames[n].code]
        after = frames[begun[-1] + 1 :] if begun else []
        others = ("/distributed/", "/concurrent/futures/")
        if after:
            return not any(part in each.file for each in after for part in others)
    return False


def came_from_the_start_of_a_worker(traceback: str) -> bool:
    """Return whether a cluster object raised this when it started a worker, or a job for one.

    Dask's cluster objects use the same method to retire workers when they are closed.
    """
    for section in _sections(traceback):
        of_cluster = [f.function for f in _frames(section) if f.file.endswith(_CLUSTER)]
        if _STARTS in of_cluster and not _CLOSES & set(of_cluster):
            return True
    return False


def came_from_the_cluster(traceback: str) -> bool:
    """Return whether a driver's traceback continues in another process of the cluster.

    What a scheduler or worker answers with an error to is joined to the client's frames.
    """
    if read_by_the_driver(traceback):
        return False
    for section in _sections(traceback):
        frames = _frames(section)
        asked, there = _places(frames, _CLIENT[0]), _places(frames, _SERVERS)
        if asked and there and there[-1] > asked[-1]:
            return True
    return came_from_a_task(traceback)


def read_by_the_driver(traceback: str) -> bool:
    """Return whether a driver failed while it read what the cluster had sent.

    What came from a task continues in the task's code; this continues in Dask's reading.
    """
    for section in reversed(_sections(traceback)):
        frames = _frames(section)
        requesting, reads = _places(frames, _REQUESTING), _places(frames, _READER)
        if not requesting:
            continue  # a traceback that the message quotes
        if not reads or reads[0] < requesting[-1]:
            return False
        return not any(map(is_the_users, frames[requesting[-1] + 1 : reads[0]]))
    return False


def raised_by_a_library(traceback: str) -> bool:
    """Return whether a library that has nothing to do with Dask raised this by itself.

    A host's timeout may end a wait for Dask from anywhere; a service that does not answer
    belongs to its client only.
    """
    frames = [frame for section in _sections(traceback) for frame in _frames(section)]
    if not frames or is_the_users(frames[-1]):
        return False
    if any(part in frames[-1].file for part in _OWN_TIMEOUTS):
        # Whatever that waits for, the program's own time limit was reached.
        return False
    return raised_outside_dask(traceback)


def raised_outside_dask(traceback: str) -> bool:
    """Return whether no frame of Dask or of a host had a part in this."""
    frames = [frame for section in _sections(traceback) for frame in _frames(section)]
    return bool(frames) and not any(
        part in frame.file for frame in frames for part in _OF_DASK
    )


def raised_in_user_code(traceback: str) -> bool:
    """Return whether the user's code raised an error outside any call to Dask.

    A task may have raised the same, which was handled; what a client raises, or `raise`
    hands on, is another matter.
    """
    frames = _frames_of_last(traceback)
    own = [n for n, frame in enumerate(frames) if is_the_users(frame)]
    if not own:
        return False
    asked = any(part in f.file for f in frames[own[0] :] for part in _OF_DASK[:2])
    code = frames[own[-1]].code
    return bool(code) and not code.startswith("raise") and not asked


def call_path_of(traceback: str) -> tuple[str, ...]:
    """Return the first three functions of the last exception's way, and where it ended."""
    names = [frame.function for frame in _frames_of_last(traceback)]
    named = [n.rpartition(".")[2] for n in names if not n.startswith(("<", "__"))]
    way = tuple(dict.fromkeys(named))
    return way if len(way) <= _STEPS else (*way[:3], "…", way[-1])


def raised_on_purpose(traceback: str) -> bool:
    """Return whether the user's own code raised this, in so many words."""
    last = last_frame(traceback)
    return (
        last is not None and is_the_users(last) and _RAISES.match(last.code) is not None
    )


def lacked_a_program(traceback: str) -> bool:
    """Return whether what was raised is that a program could not be started."""
    last = last_frame(traceback)
    if last is None or not last.file.endswith("/subprocess.py"):
        return False
    return last.function == "_execute_child"


def raised_by_a_check(traceback: str) -> bool:
    """Return whether the user's own code raised this, or asserted the opposite."""
    last = last_frame(traceback)
    asserts = last is not None and is_the_users(last) and last.code.startswith("assert")
    return asserts or raised_on_purpose(traceback)


def raised_in_a_wait_for_dask(traceback: str) -> bool:
    """Return whether a handler of a signal raised this while a call to Dask was waiting."""
    frames = _frames_of_last(traceback)
    waiting = _places(frames, "/threading.py")
    return (
        bool(waiting)
        and raised_on_purpose(traceback)
        and any("/distributed/" in each.file for each in frames[: waiting[0]])
        and all(is_the_users(each) for each in frames[waiting[-1] + 1 :])
    )


def last_frame(traceback: str) -> Frame | None:
    """Return the line that raised, in whosever code it is, or None."""
    return next(reversed(_frames_of_last(traceback)), None)


_FROM_LISTING = bounded(r"/fsspec/[^\n]{1,200}, in _ls_from_cache\b")


def is_from_a_listing(traceback: str) -> bool:
    """Return whether fsspec said so from a listing of a folder that it had kept."""
    return _FROM_LISTING.search(traceback) is not None


def is_of_environment(traceback: str) -> bool:
    """Return whether `os.environ` raised it: such a variable is not set."""
    last = last_frame(traceback)
    return (
        last is not None
        and (last.file == "<frozen os>" or last.file.endswith("/os.py"))
        and last.function == "__getitem__"
    )


def within(frames: Sequence[Frame]) -> Frame:
    """Return the first of some frames, the innermost first; `<listcomp>` of what it is in."""
    first = frames[0]
    if not first.function.startswith("<"):
        return first
    named = (f.function for f in frames if f.file == first.file)
    around = next((name for name in named if not name.startswith("<")), None)
    if around is None:
        return first
    return dataclasses.replace(first, function=f"{first.function} of {around}")


def frame_of_stack(stack: str, *, without: Collection[int | None] = ()) -> Frame | None:
    """Return where the task was in a stack that Python's `faulthandler` wrote.

    It writes every thread, the innermost frame first; the one that ran a task counts, in
    its user's code if it has some: the one of the crash, if that ran a task.

    Args:
        stack: All threads.
        without: Identifiers of threads that are known not to be asked for.
    """
    lines = [
        line
        for each in task_stacks(stack)
        if each.thread not in without and (line := each.line) is not None
    ]
    own = (line for line in lines if is_the_users(line))
    return next(own, next(iter(lines), None))


@dataclass(frozen=True, kw_only=True)
class TaskStack:
    """Where a thread was that ran a task, as `faulthandler` wrote it.

    Attributes:
        thread: Its identifier.
        faulted: Whether the signal came in this thread.
        elsewhere: Whether it came in another one: then this one may have gone on meanwhile.
        frames: What the task had called, the innermost first.
    """

    thread: int
    faulted: bool
    elsewhere: bool
    frames: tuple[Frame, ...]

    @property
    def line(self) -> Frame | None:
        """Where the task was, in its user's code if it went through some; None if unknown."""
        own = [frame for frame in self.frames if is_the_users(frame)]
        if own:
            return within(own)
        return None if self.elsewhere else next(iter(self.frames), None)

    @property
    def waits(self) -> bool:
        """Whether it waited: for a lock, a socket, a queue or another process."""
        return bool(self.frames) and any(
            part in self.frames[0].file for part in _WAITING
        )


def task_stacks(stack: str) -> tuple[TaskStack, ...]:
    """Return the threads of a stack that ran a task; the one of the signal comes first."""
    found, said = [], bool(_CURRENT.search(stack))
    for text in _texts_of_threads(stack):
        header = _THREAD.match(text)
        frames = [
            Frame(file=m["file"], line=int(m["line"]), function=m["name"])
            for m in map(_STACKED.match, text.splitlines())
            if m
        ]
        of_dask = (n for n, frame in enumerate(frames) if _RUNS_TASKS in frame.function)
        at_task = next(of_dask, None)
        if header is not None and at_task is not None:
            faulted = bool(_CURRENT.match(text))
            found.append(
                TaskStack(
                    thread=int(header["ident"] or "0", 16),
                    faulted=faulted,
                    elsewhere=said and not faulted,
                    frames=tuple(frames[:at_task]),
                )
            )
    return tuple(found)


def stack_of_signal(stack: str) -> str:
    """Return the part of a stack that is of the thread that the signal came in, if it says so."""
    first = next(iter(_texts_of_threads(stack)), "")
    return first.rstrip() if _CURRENT.match(first) else stack


def _texts_of_threads(stack: str) -> list[str]:
    """Return the stack of each thread; first of the one that the signal came in."""
    starts = [*(found.start() for found in _THREAD.finditer(stack)), len(stack)]
    texts = [stack[a:b] for a, b in pairwise(starts)]
    return sorted(texts, key=lambda text: not _CURRENT.match(text))


def frames_of_call_stack(reported: Sequence[str]) -> tuple[Frame, ...]:
    """Return the frames that a worker reported of a task that it is executing, in its order."""
    return tuple(frame for text in reported for frame in _frames(text))


_CUT = bounded(r"^… cut(?: \d+ characters)?\n(?:(?!  File \")[^\n]*\n)?", re.MULTILINE)
"""Where a recording left lines out, with the code of a frame whose line is among them."""


def _sections(traceback: str) -> list[str]:
    traceback = _CUT.sub("", traceback)
    for link in EXCEPTION_LINKS[1:]:
        traceback = traceback.replace(link, EXCEPTION_LINKS[0])
    return [
        section for section in traceback.split(EXCEPTION_LINKS[0]) if section.strip()
    ]


def _frames_of_last(traceback: str) -> list[Frame]:
    """Return the frames of the last exception of a chain."""
    sections = _sections(traceback)
    return _frames(sections[-1]) if sections else []


def _places(frames: Sequence[Frame], files: str | tuple[str, ...]) -> list[int]:
    """Return at which places of a stack a file is that ends like this."""
    return [n for n, frame in enumerate(frames) if frame.file.endswith(files)]


def _frames(section: str) -> list[Frame]:
    lines = section.splitlines()
    frames = []
    for number, text in enumerate(lines):
        found = _FRAME.match(text)
        if found:
            following = lines[number + 1] if number + 1 < len(lines) else ""
            frames.append(
                Frame(
                    file=found["file"],
                    line=int(found["line"]),
                    function=found["name"],
                    code=_code_below(text, following),
                )
            )
    return frames


def _code_below(frame: str, following: str) -> str:
    """Return the code that a line shows for the frame above it; without it, the next one follows."""
    code = following.lstrip(" |\t")
    deeper = len(following) - len(code) > len(frame) - len(frame.lstrip(" |\t"))
    tabbed = following.startswith("\t")
    return "" if _FRAME.match(code) or not (deeper or tabbed) else code.rstrip(" |\t")


def is_the_users(frame: Frame) -> bool:
    """Return whether a frame is in the user's own code, not in a library."""
    compiled = frame.file.endswith(_COMPILED) and not frame.file.startswith("/")
    return (
        not compiled
        and not is_ours(frame.file)
        and not is_foreign(frame.file)
        and not is_console_script(frame.file, frame.function, frame.code)
    )


def own_frame_in(stack: Sequence[Frame]) -> Frame | None:
    """Return the innermost frame of the user's own code in a stack, outermost first."""
    own = [frame for frame in stack if is_the_users(frame)]
    return within(own[::-1]) if own else None


class HasStack:
    """Something with a stack, of which the frames of the user's own code matter."""

    stack: tuple[Frame, ...]

    @property
    def own_frame(self) -> Frame | None:
        """The innermost frame of the user's own code."""
        return own_frame_in(self.stack)

    @property
    def beyond(self) -> tuple[Frame, ...]:
        """The frames below the user's own code: what it called, and is in."""
        own = [n for n, frame in enumerate(self.stack) if is_the_users(frame)]
        below = self.stack[own[-1] + 1 :] if own else ()
        return tuple(frame for frame in below if not is_ours(frame.file))

    def lines(self) -> str:
        """Return the user's own line, what that called, and the innermost frame, as text."""
        own = self.own_frame
        frames = [*([own] if own else []), *self.beyond[:2]]
        innermost = self.stack[-1:] if self.beyond or not own else ()
        frames += [each for each in innermost if each not in frames]
        return "\n".join(
            str(frame).rpartition("/site-packages/")[2]
            + (f": {short(frame.code, 100)}" if frame.code else "")
            for frame in frames
        )


_QUOTED = bounded(r"^(?P<name>[A-Z]\w*)\((?P<text>.{0,})\)$", re.DOTALL)
_CLIENT_FILE = "distributed/utils.py"
_END = bounded(r"['\"]\)$")
_ESCAPED = {"\\n": "\n", "\\t": "\t", "\\'": "'", '\\"': '"', "\\\\": "\\"}
_ESCAPE = bounded(r"\\[nt'\"\\]")


class Raised(NamedTuple):
    """Name of the class that was raised, its message, and what became of it on the way.

    Attributes:
        name: Bare name of the class.
        message: Its text, as far as it arrived.
        how: `quoted` in a plain exception, as it cannot be pickled; `cut`, as it is long;
            `unprintable`, as its own text raised the exception that arrived.
    """

    name: str
    message: str
    how: Literal["", "quoted", "cut", "unprintable"] = ""


def untangled(qualified: str, message: str) -> Raised:
    """Return what was raised, of what arrived.

    Args:
        qualified: Name of the class that arrived, with its module.
    """
    name = class_of(qualified)
    cut = LONG_MESSAGE_CUT.match(message)
    if cut is not None:
        text = _ESCAPE.sub(lambda found: _ESCAPED[found[0]], _END.sub("", cut["text"]))
        return Raised(class_of(cut["name"] or name), text, "cut")
    quoted = _QUOTED.match(message) if name == "Exception" else None
    if quoted is not None:
        return Raised(quoted["name"], quoted["text"].strip("'\""), "quoted")
    return Raised(name, message)


def classes_of(exception: DriverException) -> tuple[str, ...]:
    """Return the classes of an exception, of its chain, and of the members of groups."""
    members = (name for name, _ in members_of_group(exception.traceback))
    return (exception.exception, *exception.chain, *members)


def lost_by_client(exception: DriverException) -> bool:
    """Return whether Dask's client came back without a result and without an exception.

    That is what is left of an exception that is no `Exception`.
    """
    if class_of(exception.exception) != "UnboundLocalError":
        return False
    at = last_frame(exception.traceback)
    return at is not None and (at.file.endswith(_CLIENT_FILE) and at.function == "sync")
