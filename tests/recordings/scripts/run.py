"""Run held-out scripts recorded, and compare what is reported with what was meant.

    python tests/recordings/scripts/run.py --store FOLDER [--only NAME…] [--out results.json]
    python tests/recordings/scripts/run.py --store FOLDER --judge     # current rules
    python tests/recordings/scripts/run.py --store FOLDER --keep      # into ../kept
    python tests/recordings/scripts/run.py --bare [--only NAME…]      # without recording

Each script is in the folder of its cause, whose `expected.toml` has what it must be reported as.
`--set 17` takes the scripts of that set alone: those of a set were written together, by authors who
had read no rule, and diagnosed once before any fix; `../answers/scripts_17.json` has those first
answers.  Expectations were written before any script was recorded (of sets 7 and 8, only their
author's words were; patterns of set 9 that could not tell right from wrong were corrected after).
`--out` also writes a Markdown table beside the JSON.  NAME is a script, a cause or a kind; without
names, all are run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
import psutil

if TYPE_CHECKING:
    from dask_blackbox import Run, RunCard

_HERE = Path(__file__).parent
_MARK = "DASK_SCRIPT_MARK"
_FINALISED = 45.0  # seconds that a recorder has to complete a recording

Kind = Literal[
    "right", "wrong", "unknown", "names", "claims", "state", "warnings", "absent"
]
"""`names`: the cause is right, but what it must name is missing; `claims`: it says what is
false; `absent`: there is no recording, or the script did not fail."""


class Signal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A signal sent from outside while a script runs.

    Attributes:
        name: Such as `SIGINT`.
        marker: Send it when the output contains this,
        after: and so many seconds have passed since.
        to: `group`, as a terminal's Ctrl-C, or the driver's process alone.
    """

    name: str
    marker: str
    after: float = 1.0
    to: Literal["group", "driver"] = "driver"


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a script is run, and what must be reported of it.

    Attributes:
        text: What happens, in a sentence.
        set: The set that it belongs to; 0: none, rules may be developed with it.
        kind: What its author was asked for: `consequence` (the last visible exception is not the
            cause), `start`, `hang`, `start-or-hang`, `memory`, `death`, `everyday`, `plain` or `hard`.
        slugs: Verdicts that are right; empty: the run is healthy.
        why: Why more than one verdict is right.
        names: Patterns that headline, title, cause or evidence must contain.
        mentions: Patterns that the card must contain, other findings included.
        never: Patterns that headline, title and cause must not contain.
        never_rules: Findings that would be false.
        may: Warnings that are true of a healthy run.
        state: States of the run that are right.
        argv: The command; `{file}` is the script.
        rename: What the script is called where it runs.
        env: Further variables.
        signal: What is sent to it.
        bound: Seconds after which it is ended from outside.
        needs: Modules without which it cannot run.
        recorded: By `dask blackbox run`, or by the script itself.
        accepted: Why another answer on its kept recording is no fault.
        retry: Whether another attempt helps, as the author says: `helps`, `does not help`
            or `unknown`.
    """

    text: str
    set: int = 0
    kind: str = ""
    slugs: tuple[str, ...]
    why: str = ""
    names: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    never_rules: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    state: tuple[str, ...] = ("failed",)
    argv: tuple[str, ...] = ("python", "{file}")
    rename: str = ""
    env: dict[str, str] = {}
    signal: Signal | None = None
    bound: float = 300.0
    needs: tuple[str, ...] = ()
    recorded: Literal["command", "script"] = "command"
    accepted: str = ""
    retry: str = ""


class Result(NamedTuple):
    """What is reported of a script, and whether it is right."""

    name: str
    kind: Kind
    problem: str = ""
    slug: str = ""
    confidence: str = ""
    headline: str = ""
    state: str = ""
    exit: int | None = None
    seconds: float = 0.0


def load_cases(number: int | None = None) -> dict[str, Case]:
    """Return the cases of a set, or all, by `cause/name`; each has a script."""
    cases = {
        f"{file.parent.name}/{name}": case
        for file in sorted(_HERE.glob("*/expected.toml"))
        for name, case in msgspec.toml.decode(
            file.read_bytes(), type=dict[str, Case]
        ).items()
    }
    there = {
        f"{each.parent.name}/{each.stem}"
        for each in _HERE.glob("*/*")
        if each.name != "expected.toml" and "__pycache__" not in each.parts
    }
    if there != cases.keys():
        raise ValueError(
            f"scripts without expectations, or the reverse: {there ^ cases.keys()}"
        )
    chosen = {name: case for name, case in cases.items() if number in {None, case.set}}
    return dict(sorted(chosen.items(), key=lambda each: each[1].set))


def _copy(name: str, case: Case, work: Path) -> str:
    """Copy a script, or its folder, to where it runs; return the file's name there."""
    shutil.rmtree(work, ignore_errors=True)
    [found] = [each for each in _HERE.glob(f"{name}*") if _is(each, name)]
    if found.is_dir():
        shutil.copytree(found, work)
        return ""
    work.mkdir(parents=True)
    file = case.rename or found.name
    shutil.copy(found, work / file)
    return file


def _is(path: Path, name: str) -> bool:
    return path.stem == name.rpartition("/")[2]


def _environment(mark: str, case: Case, place: Path) -> dict[str, str]:
    """Return the variables of a script: ours in front, nothing of pytest's or a store's."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    temporary = place / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    return {
        **os.environ,
        "PATH": path,
        "TMPDIR": str(temporary),
        "PYTHONUNBUFFERED": "1",
        "DASK_BLACKBOX__SPOOL": str(place / "spool"),
        "DASK_BLACKBOX__STORE__URL": str(place),
        _MARK: mark,
        **case.env,
    }


def run_case(name: str, case: Case, place: Path, *, bare: bool) -> dict[str, Any]:
    """Run a script, recorded or bare, in a folder of its own; return how it ended."""
    shutil.rmtree(place, ignore_errors=True)
    work = place / "work"
    file = _copy(name, case, work)
    argv = [word.format(file=file) for word in case.argv]
    command = ["env", *argv]  # 127 where there is no such command
    if not bare and case.recorded == "command":
        command = [sys.executable, "-m", "dask", "blackbox", "run"]
        command += ["--store", str(place), "--job", Path(name).name]
        command += ["--run-id", "recorded", "--", *argv]
    mark, begun = uuid.uuid4().hex, time.time()
    with (place / "out.txt").open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=_environment(mark, case, place),
            start_new_session=True,
        )
    _send(case, process, argv, place / "out.txt")
    late = _wait(process, case.bound)
    seconds = round(time.time() - begun, 1)
    if not bare:
        _await_recording(place)
    left = _end(process.pid, mark)
    done = {"exit": process.returncode, "late": late, "seconds": seconds, "left": left}
    (place / "done.json").write_text(json.dumps(done | {"at": begun}))
    shutil.rmtree(place / "tmp", ignore_errors=True)
    return done


def _send(
    case: Case,
    process: subprocess.Popen[bytes],
    argv: Sequence[str],
    out: Path,
) -> None:
    """Send a signal once the marker is printed."""
    asked = case.signal
    if asked is None:
        return
    deadline = time.monotonic() + case.bound
    while asked.marker not in out.read_text(errors="replace"):
        if process.poll() is not None or time.monotonic() > deadline:
            return
        time.sleep(0.05)
    time.sleep(asked.after)
    number = signal.Signals[asked.name]
    with suppress(ProcessLookupError, psutil.Error):
        if asked.to == "group":
            os.killpg(process.pid, number)
        else:
            os.kill(_driver(process.pid, argv), number)


def _driver(pid: int, argv: Sequence[str]) -> int:
    """Return the process of the command itself, which `dask blackbox run` starts."""
    for each in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.Error):
            if each.cmdline()[1:] == list(argv[1:]):
                return each.pid
    return pid


def _wait(process: subprocess.Popen[bytes], bound: float) -> bool:
    """Wait for a process, end it as job schedulers do; return whether it was late."""
    for seconds, number in ((bound, signal.SIGTERM), (15, signal.SIGKILL)):
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
        else:
            return number is signal.SIGKILL
    process.wait()
    return True


def _await_recording(place: Path) -> None:
    """Wait until a recording that was begun is complete."""
    deadline = time.monotonic() + _FINALISED
    while list(place.glob("runs/*/*/*")) and not list(place.rglob("complete.json")):
        if time.monotonic() > deadline:
            return
        time.sleep(0.2)


def _end(group: int, mark: str) -> int:
    """Kill what a script leaves running; return how many processes that were."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    left = 0
    for each in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if each.environ().get(_MARK) == mark:
                each.kill()
                left += 1
    return left


def judge(name: str, case: Case, place: Path) -> Result:
    """Diagnose a recording with the current rules, and judge what they report."""
    if not (place / "done.json").exists():
        return Result(name, "absent", "not run yet")
    done = json.loads((place / "done.json").read_text())
    run = _first_run(place)
    if run is None:
        return Result(name, "absent", "there is no recording", exit=done["exit"])
    return judge_card(name, case, run.card(), done)


def _first_run(place: Path) -> Run | None:
    """Return the recording of a script; of several, that of the script itself."""
    from dask_blackbox import Run

    opened = [Run.open(each) for each in place.glob("runs/job=*/run=*/attempt=*")]
    return min(opened, key=lambda run: run.manifest.started, default=None)


def judge_card(name: str, case: Case, card: RunCard, done: dict[str, Any]) -> Result:
    """Judge what is reported of a script.

    Args:
        name: Of the script.
        case: What must be reported.
        card: What is reported.
        done: How the script ended.
    """
    verdict = card.verdict
    if done["late"]:  # it was ended from outside, on a machine that was too slow for it
        case = msgspec.structs.replace(case, state=(*case.state, "aborted"))
    kind, problem = _compared(case, card)
    if case.slugs and done["exit"] == 0:
        kind, problem = "absent", "the script did not fail"
    return Result(
        name,
        kind,
        problem,
        verdict.rule if verdict else "(none)",
        verdict.confidence if verdict else "",
        card.headline,
        card.state,
        done["exit"],
        done["seconds"],
    )


def keep_all(
    names: Iterable[str], cases: dict[str, Case], store: Path, places: dict[str, str]
) -> int:
    """Keep recordings of a store in the repository; return how many there are.

    Those of scripts that the store does not hold stay as they were kept before.

    Args:
        names: Of the scripts that were asked for.
        cases: At least all scripts of their sets.
        store: Where their recordings are.
        places: What says where this machine has things, and what is kept instead.
    """
    sys.path.insert(0, str(_HERE.parent))
    from keep import usual_places
    from keeping import Kept, archive_of, keep, kept

    new = {
        name: Kept(name.rpartition("/")[2], json.loads(done.read_text()), run)
        for name in names
        if (done := store / name / "done.json").exists()
        and (run := _first_run(store / name)) is not None
    }
    moved = places | usual_places() | {str(store): "/srv/store"}
    for module in sorted({_module(cases[name]) for name in new}):
        archive = archive_of("scripts", module)
        before = {e.name: e for e in kept(archive)} if archive.exists() else {}
        found = (
            new.get(name) or before.get(name.rpartition("/")[2])
            for name, case in cases.items()
            if _module(case) == module
        )
        keep(archive, [each for each in found if each is not None], moved)
    return len(new)


def _module(case: Case) -> str:
    """Return which archive has the recording of a script."""
    return f"{case.set:02d}_{'failing' if case.slugs else 'healthy'}"


def _compared(case: Case, card: RunCard) -> tuple[Kind, str]:
    """Return what is wrong with a card, worst first."""
    rule = card.verdict.rule if card.verdict else "(none)"
    if rule not in (case.slugs or ("(none)",)):
        expected = " or ".join(case.slugs) or "no verdict"
        return "unknown" if rule == "unknown" else "wrong", f"{rule}, not {expected}"
    if card.state not in case.state:
        return "state", f"{card.state}, not {' or '.join(case.state)}"
    if not case.slugs:
        loud = {e.rule for e in card.findings if e.severity in {"failure", "warning"}}
        if loud - set(case.may):
            return "warnings", f"reports {sorted(loud - set(case.may))}"
        return "right", ""
    false = {each.rule for each in card.findings} & set(case.never_rules)
    if false:
        return "claims", f"reports {sorted(false)}"
    return _named(case, card)


def _named(case: Case, card: RunCard) -> tuple[Kind, str]:
    """Return what the verdict of a failed run fails to name, or claims falsely."""
    verdict = card.verdict
    assert verdict is not None
    head = f"{card.headline}\n{verdict.title}\n{verdict.cause}"
    whole = "\n".join([head, *(each.text for each in verdict.evidence)])
    said = [each for each in case.never if re.search(each, head, re.IGNORECASE)]
    if said:
        return "claims", f"says {said}"
    missing = [each for each in case.names if not re.search(each, whole, re.IGNORECASE)]
    if missing:
        return "names", f"does not name {missing}"
    card_text = str(card.to_json())
    lost = [e for e in case.mentions if not re.search(e, card_text, re.IGNORECASE)]
    if lost:
        return "names", f"does not mention {lost}"
    return "right", ""


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=_HERE
    )
    return done.stdout.strip()


def table(results: Sequence[Result], cases: dict[str, Case]) -> str:
    """Return the results as Markdown: counts, then a row for each script."""

    def part(title: str, mine: Sequence[Result]) -> Iterable[str]:
        kinds = Counter(each.kind for each in mine)
        ran = len(mine) - kinds["absent"]
        sure = sum(e.kind == "wrong" and e.confidence == "high" for e in mine)
        yield f"**{title}: {kinds['right']} of {ran} right**; wrong {kinds['wrong']} "
        yield (
            f"({sure} of them with high confidence), unknown {kinds['unknown']}, name "
            f"missing {kinds['names']}, false claim {kinds['claims']}, state "
            f"{kinds['state']}, false warning {kinds['warnings']}, not made "
            f"{kinds['absent']}.\n"
        )
        yield "| script | expected | verdict | confidence | judged | problem |"
        yield "|---|---|---|---|---|---|"
        for e in mine:
            expected = " or ".join(f"`{s}`" for s in cases[e.name].slugs) or "healthy"
            problem = e.problem.replace("|", "\\|")
            yield (
                f"| `{e.name}` | {expected} | `{e.slug}` | {e.confidence} | {e.kind} "
                f"| {problem} |"
            )
        yield ""

    failing = [each for each in results if cases[each.name].slugs]
    healthy = [each for each in results if not cases[each.name].slugs]
    return "\n".join([*part("Failing", failing), *part("Healthy", healthy)])


def write(results: Sequence[Result], cases: dict[str, Case], out: Path) -> None:
    """Write the results as JSON, and as a table beside it."""
    answers = {
        "date": time.strftime("%Y-%m-%d"),
        "commit": _commit(),
        "results": [each._asdict() for each in results],
    }
    out.write_text(json.dumps(answers, indent=1))
    out.with_suffix(".md").write_text(table(results, cases))


def _missing(case: Case) -> list[str]:
    from importlib.util import find_spec

    return [each for each in case.needs if find_spec(each) is None]


def _chosen(cases: dict[str, Case], asked: Sequence[str]) -> list[str]:
    """Return the cases that are asked for, in that order."""
    found = [
        name
        for word in asked
        for name, case in cases.items()
        if word in {name, *name.split("/"), case.kind}
    ]
    return list(dict.fromkeys(found)) if asked else list(cases)


def main() -> int:
    """Run what is asked for; return 1 if a verdict was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, default=Path("/tmp/held-out-scripts"))
    parser.add_argument("--set", type=int, metavar="N")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--judge", action="store_true", help="run nothing")
    parser.add_argument("--keep", action="store_true", help="run nothing, keep")
    parser.add_argument("--place", action="append", default=[], metavar="OLD=NEW")
    parser.add_argument("--bare", action="store_true", help="record nothing")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    # What a shell starts in the background ignores Ctrl-C, and so would its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    cases = load_cases(asked.set)
    chosen = _chosen(cases, asked.only)
    if asked.keep:
        places = dict(each.split("=", 1) for each in asked.place)
        kept = keep_all(chosen, cases, asked.store.absolute(), places)
        print(f"{kept} recordings are kept")
        return 0
    results = []
    for name in chosen:
        case = cases[name]
        place = asked.store.absolute() / name
        if not asked.judge and (missing := _missing(case)):
            results.append(Result(name, "absent", f"needs {', '.join(missing)}"))
            continue
        done = {}
        if not asked.judge:
            done = run_case(name, case, place, bare=asked.bare)
        if asked.bare:
            said = (place / "out.txt").read_text(errors="replace").strip()
            print(f"━━━ {name}: {done}\n{said[-600:]}", flush=True)
            continue
        result = judge(name, case, place)
        results.append(result)
        print(f"{result.kind:9}{name:60}{result.seconds:5.0f} s  {result.problem}")
        print(f"         {result.confidence:7}{result.headline}", flush=True)
    if asked.out:
        write(results, cases, asked.out)
    return int(any(each.kind in {"wrong", "claims", "warnings"} for each in results))


if __name__ == "__main__":
    sys.exit(main())
