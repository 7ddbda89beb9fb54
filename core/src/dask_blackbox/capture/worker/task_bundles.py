"""The worker's bundles: which failed tasks to keep, and handing them over.

On the event loop, only references are gathered; pickling happens in a thread, into a file
without a name, which no death of this process leaves behind.  The recorder asks for it
piece by piece, from the worker itself.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import threading
import time
from collections import Counter
from itertools import count
from typing import IO, TYPE_CHECKING, Any, Sequence

from ..process import environment
from ..rpc_handlers import Handler
from .bundle_file import BundleWriter, TooLargeError
from .task_pickling import Policy, TooLongError, dump, dump_task, may_hold_secrets

if TYPE_CHECKING:
    from distributed import Worker
    from distributed.worker_state_machine import TaskState

_PIECE = 2**20
_MAKING = 30.0  # seconds that pickling one bundle may take
_ASKING = 60.0  # seconds that an asker waits for one that is being made
_FORGETTING = (
    600.0  # seconds after which a place is free again: plugins may stay for days
)
_BUSY = 10  # failed tasks that wait to be pickled, at most
_TOO_LARGE = "larger than the rest of blackbox.capture.values-limit"
_LONGEST = 2_000
_ELSEWHERE = object()


def place_for(
    kept: Sequence[tuple[str, str]], prefix: str, key: str, most: int
) -> int | None:
    """Return where among `most` bundles another one belongs; None: nowhere.

    A later attempt takes the place of the earlier one; when all places are taken, a new
    prefix takes the newest place of the prefix that has the most of them.

    Args:
        kept: Prefix and key of those that there are, oldest first.
        most: How many there may be.
    """
    if (prefix, key) in kept:
        return list(kept).index((prefix, key))
    if len(kept) < most:
        return len(kept)
    prefixes = [each[0] for each in kept]
    if not prefixes or prefix in prefixes:
        return None
    commonest, number = Counter(prefixes).most_common(1)[0]
    if number == 1:
        return None
    return len(prefixes) - 1 - prefixes[::-1].index(commonest)


class _Kept:
    def __init__(self, number: int, prefix: str, key: str) -> None:
        self.number, self.prefix, self.key = number, prefix, key
        self.file: IO[bytes] | None = None
        self.size = 0
        self.failed = ""
        self.made = threading.Event()
        self.since = time.monotonic()
        self.handed_over = False

    def drop(self) -> None:
        self.handed_over = True
        file, self.file = self.file, None
        if file is not None:
            file.close()


class BundleCollector:
    """Keeps failed tasks of one worker for one recording.

    Args:
        op: Name of the handler by which the recorder asks; installed here.
        limit: Bytes that a bundle may have.
        most: How many bundles there may be.
        names: Names of parameters and types that must not leave, as regular expressions.
        texts: Secrets in texts, as regular expressions.
    """

    def __init__(
        self,
        worker: Worker,
        *,
        op: str,
        limit: int,
        most: int,
        names: Sequence[str],
        texts: Sequence[str],
    ) -> None:
        self._worker, self._limit, self._most = worker, limit, most
        self._op = op
        worker.handlers[op] = Handler(self.hand_over)
        self._names, self._texts = list(names), list(texts)
        self._numbers = count(1)
        self._kept: list[_Kept] = []
        self._turn = threading.Lock()
        self._making = 0

    # When a task has failed, on the event loop

    def failed(self, key: object, ts: TaskState, error: tuple[str, str]) -> str | None:
        """Collect the parts of a failed task; return the fields of `bundle-announced`.

        Args:
            ts: What the worker knows of it, inputs included.
            error: Class and text of its exception.
        """
        prefix, text = str(ts.prefix), str(key)
        self._forget_old_ones()
        known = [(each.prefix, each.key) for each in self._kept]
        place = place_for(known, prefix, text, self._most)
        if place is None or ts.run_spec is None or self._making >= _BUSY:
            return None
        bundle = _Kept(next(self._numbers), prefix, text)
        if place < len(self._kept):
            self._kept.pop(place).drop()
        self._kept.append(bundle)
        policy = Policy((), self._texts)
        facts = {
            "key": policy.text(text),
            "prefix": policy.text(prefix),
            "worker": str(self._worker.address),
            "at": time.time(),
            "exception": error[0],
            "message": policy.text(error[1][:_LONGEST]),
        }
        inputs = [self._input(each) for each in ts.dependencies]
        self._making += 1
        threading.Thread(
            target=self._make,
            args=(bundle, ts.run_spec, inputs, facts),
            name="dask-blackbox-bundle",
            daemon=True,
        ).start()
        worker = str(self._worker.address)
        reported = {
            "number": bundle.number,
            "prefix": prefix,
            "worker": worker,
            "op": self._op,
        }
        return json.dumps(reported)

    def _forget_old_ones(self) -> None:
        latest = time.monotonic() - _FORGETTING
        for each in [old for old in self._kept if old.since < latest]:
            self._kept.remove(each)
            each.drop()

    def _input(self, ts: TaskState) -> tuple[object, int, object]:
        data, actors = self._worker.data, self._worker.state.actors
        if ts.key in actors:
            return (ts.key, 0, _ELSEWHERE)
        # Not `data[key]`: it would read what is on disk, here on the event loop.
        memory = getattr(data, "memory", data)
        return (ts.key, ts.nbytes or 0, memory.get(ts.key, _ELSEWHERE))

    # In a thread

    def _make(
        self,
        bundle: _Kept,
        task: object,
        inputs: list[object],
        facts: dict[str, object],
    ) -> None:
        file: IO[bytes] | None = None
        try:
            with self._turn:
                if not bundle.handed_over:  # a later attempt may have taken its place
                    file = tempfile.TemporaryFile(prefix="dask-blackbox-")  # noqa: SIM115
                    self._write(file, task, inputs, facts)
                    bundle.size, bundle.file = file.tell(), file
        except TooLargeError:
            bundle.failed = f"the task itself is larger than {self._limit} bytes"
        except TooLongError:
            bundle.failed = f"pickling it took more than {_MAKING:.0f} s"
        except OSError as error:
            bundle.failed = f"it cannot be written: {error}"
        except BaseException as error:
            bundle.failed = f"it cannot be pickled: {type(error).__name__}: {error}"
        finally:
            with self._turn:
                if file is not None and (bundle.handed_over or bundle.file is None):
                    bundle.file = None  # it has failed, or was dropped meanwhile
                    file.close()
                self._making -= 1
            bundle.made.set()

    def _write(
        self, file: IO[bytes], task: object, inputs: list[Any], facts: dict[str, Any]
    ) -> None:
        policy = Policy(self._names, self._texts)
        deadline = time.monotonic() + _MAKING
        keys = [key for key, _, _ in inputs]
        unwanted: dict[object, bool] = {}
        writer = BundleWriter(file, self._limit)

        def write_task(sink: object) -> None:
            unwanted.update(dump_task(task, keys, sink, policy, deadline))

        writer.add(write_task, kind="task", name=facts["key"], type=_called(task))
        left_out = []
        for i, (key, nbytes, held) in sorted(enumerate(inputs), key=lambda x: x[1][1]):
            what = {"name": str(key), "input": i, "nbytes": nbytes}
            value = held
            if held is _ELSEWHERE:
                value = self._from_disk(key, nbytes, writer.space)
            if value is not _ELSEWHERE:
                what["type"] = _dotted(type(value))
            named = unwanted.get(key)
            if named or (named is False and may_hold_secrets(value)):
                why = "redacted: by the name of its parameter"
            elif policy.label_of(type(value)) is not None:
                why = "redacted: by its type"
            else:
                why = _add(writer, what, value, policy, deadline)
            if why:
                left_out.append({**what, "why": why})
        facts = {**facts, "redacted": list(policy.applied), "left_out": left_out}
        writer.finish(**facts, environment=environment())

    def _from_disk(self, key: object, nbytes: int, space: int) -> object:
        """Return an input that was spilled; its place stays on disk."""
        disk = getattr(self._worker.data, "disk", None)
        if disk is None or nbytes > space:
            return _ELSEWHERE
        try:
            return disk[key]
        except Exception:  # it has just been released, or taken back into memory
            return _ELSEWHERE

    # When the recorder asks

    async def hand_over(
        self, *, number: int, offset: int = 0, most: int = _PIECE, done: bool = False
    ) -> dict[str, object]:
        """Return a piece of a bundle (an RPC handler); with `done`, forget it.

        Waits for one that is being made; a minute at most.
        """
        bundle = next((each for each in self._kept if each.number == number), None)
        if bundle is None or bundle.handed_over:
            return {"failed": "it was replaced by a later one"}
        if done:
            bundle.drop()
            return {"size": bundle.size}
        deadline = time.monotonic() + _ASKING
        while not bundle.made.is_set() and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        file = bundle.file
        if file is None:
            return {"failed": bundle.failed or "it was not pickled in time"}
        file.seek(offset)
        return {"size": bundle.size, "piece": file.read(most)}

    def leave(self) -> None:
        """Drop all bundles: the recording has ended, or this process is about to."""
        self._worker.handlers.pop(self._op, None)
        for each in self._kept:
            each.drop()


def _add(
    writer: BundleWriter,
    what: dict[str, Any],
    value: Any,
    policy: Policy,
    deadline: float,
) -> str:
    """Add an input; return why it was left out, if it was."""
    if value is _ELSEWHERE:
        return "it was not in this worker's memory"
    if what["nbytes"] > writer.space:
        return _TOO_LARGE
    try:
        writer.add(
            lambda sink: dump(value, sink, policy, deadline), kind="input", **what
        )
    except TooLargeError:
        return _TOO_LARGE
    except TooLongError:
        return f"pickling took more than {_MAKING:.0f} s"
    except Exception as error:
        return f"it cannot be pickled: {type(error).__name__}: {error}"
    return ""


def _called(task: object) -> str:
    function = task[0] if isinstance(task, tuple) else getattr(task, "func", task)
    for wrapped in ("func", "__wrapped__"):  # functools.partial, decorators
        function = getattr(function, wrapped, function)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', None) or '?'}.{name}"


def _dotted(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
