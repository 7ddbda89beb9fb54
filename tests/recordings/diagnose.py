"""Diagnose all recordings that `make.py` made, and publish how often the verdict is right.

    python tests/recordings/diagnose.py [--store FOLDER | --kept] [--out docs/diagnosis.md]

With `--kept`, the recordings that are kept in the repository, which takes seconds.  Nothing
is recorded again: the current rules diagnose what is there.  Prints what is missing and what
is wrong; exits with 1 if a verdict is wrong with high confidence.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from case_runner import load_failures
from judging import NOT_YET, Result, judge, judge_run
from keeping import archives, kept

_BEGIN, _END = "<!-- verdicts -->", "<!-- /verdicts -->"
_FIRST = Path(__file__).with_name("answers") / "failures.json"  # the first answers


def diagnose(store: Path) -> list[Result]:
    """Return the verdict on each scenario; of held-out ones, the first one."""
    sets = _held_out()
    found = []
    for name, case in load_failures().items():
        first = sets.get(case.held_out, {}).get("said", {})
        if name in first:
            found.append(Result(case, *first[name]))
            continue
        try:
            found.append(judge(case, store / name))
        except Exception as error:  # noqa: BLE001 - a recording that cannot be read
            problem = f"{type(error).__name__}: {error}"
            found.append(Result(case, "wrong", problem, "(none)"))
        if case.held_out and found[-1].kind != "absent":
            new = {"diagnosed": time.strftime("%Y-%m-%d, %H:%M"), "said": {}}
            sets.setdefault(case.held_out, new)["said"][name] = found[-1][1:]
    if sets:
        _FIRST.write_text(json.dumps(sets, indent=1) + "\n")
    return found


def again(store: Path) -> list[Result]:
    """Return the current verdicts on the held-out sets, as far as those are recorded."""
    held = [case for case in load_failures().values() if case.held_out]
    reported = [each for each in held if (store / each.name / "reported.json").exists()]
    return [judge(case, store / case.name) for case in reported]


def diagnose_kept() -> tuple[list[Result], list[Result]]:
    """Return the verdicts on the recordings that are kept in the repository.

    Returns:
        On each scenario, as `diagnose` does; and the current verdicts on all kept recordings
        of the held-out sets.
    """
    sets, found, now = _held_out(), [], []
    here = {
        each.name: each for archive in archives("failures") for each in kept(archive)
    }
    for name, case in load_failures().items():
        said = Result(case, "absent", NOT_YET)
        if name in here:
            said = judge_run(case, here[name].reported, here[name].run)
            now += [said] if case.held_out else []
        first = sets.get(case.held_out, {}).get("said", {})
        found.append(Result(case, *first[name]) if name in first else said)
    return found, now


def _held_out() -> dict[str, Any]:
    """Return the held-out sets: when they were diagnosed first, and the first answers."""
    found: dict[str, Any] = json.loads(_FIRST.read_text()) if _FIRST.exists() else {}
    return found


def _share(results: Sequence[Result]) -> str:
    made = [each for each in results if each.kind != "absent"]
    right = sum(each.kind in {"right", "names"} for each in made)
    return f"{right} of {len(made)} ({100 * right / max(len(made), 1):.1f} %)"


def _rows(results: Sequence[Result]) -> Iterable[str]:
    yield "| cause | made | right | wrong | unknown | verdict instead |"
    yield "|---|---|---|---|---|---|"
    slugs = dict.fromkeys(each.case.causes[0] for each in results)
    for slug in sorted(slugs):
        mine = [e for e in results if e.case.causes[0] == slug and e.kind != "absent"]
        kinds = Counter("right" if e.kind == "names" else e.kind for e in mine)
        others = Counter(e.slug for e in mine if e.kind in {"wrong", "unknown"})
        said = ", ".join(f"`{each}` {count}" for each, count in others.items())
        yield (
            f"| `{slug}` | {len(mine)} | {kinds['right']} | {kinds['wrong'] or ''} "
            f"| {kinds['unknown'] or ''} | {said} |"
        )


def _listed(
    title: str, results: Iterable[Result], line: Callable[[Result], str]
) -> str:
    lines = [f"* `{each.case.name}`: {line(each)}" for each in results]
    return f"**{title}**: " + ("\n\n" + "\n".join(lines) if lines else "none.")


def _part(title: str, intro: str, results: Sequence[Result]) -> str:
    """Return a section: score, table, and what is wrong one by one."""
    wrong = [e for e in results if e.kind in {"wrong", "unknown"}]
    sure = [e for e in wrong if e.confidence == "high"]
    said = {"right": 0, "names": 0, "wrong": 0, "unknown": 0, "absent": 0}
    said.update(Counter(e.kind for e in results))
    score = (
        f"**Right: {_share(results)}**; wrong {said['wrong']}, of them with high "
        f"confidence {len(sure)}; unknown {said['unknown']}; not made {said['absent']}."
    )
    return "\n\n".join(
        [
            f"## {title}",
            intro,
            score,
            "\n".join(_rows(results)),
            _listed(
                "Wrong with high confidence",
                sure,
                lambda e: f"{e.problem}: “{e.title}”",
            ),
            _listed(
                "Wrong or unknown otherwise",
                [e for e in wrong if e not in sure],
                lambda e: f"{e.problem} ({e.confidence or 'no verdict'})",
            ),
            _listed(
                "Right, but a name is missing that was asked for",
                [e for e in results if e.kind == "names"],
                lambda e: e.problem,
            ),
            _listed(
                "Not made",
                [e for e in results if e.kind == "absent"],
                lambda e: e.problem,
            ),
        ]
    )


def _where() -> str:
    """Say when, with what and on what the recordings were made."""
    from importlib.metadata import version

    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    ).stdout.strip()
    python = ".".join(map(str, sys.version_info[:3]))
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("dask", "distributed", "pandas", "numpy")
    )
    return (
        f"Recorded on 2026-11-21, diagnosed on {time.strftime('%Y-%m-%d')} by the rules of "
        f"{commit}; Python {python}, {packages}, Linux, two cores."
    )


def _ambiguous(results: Sequence[Result]) -> str:
    lines = [
        f"* `{e.case.name}`: "
        + " or ".join(f"`{c}`" for c in e.case.causes)
        + f"; {e.case.why}"
        for e in results
        if len(e.case.causes) > 1
    ]
    return "## Scenarios with more than one right answer\n\n" + "\n".join(lines)


def verdicts_page(results: Sequence[Result], now: Sequence[Result] = ()) -> str:
    """Return the part of `docs/diagnosis.md` on verdicts."""
    corpus = [e for e in results if not e.case.held_out]
    held = [e for e in results if e.case.held_out]
    kinds = Counter(e.case.how for e in corpus)
    noisy = sum(bool(e.case.noise) for e in corpus)
    parts = [
        _where(),
        _part(
            "Verdicts on failed runs",
            f"{len(corpus)} failures on real clusters, each in processes of its own; "
            f"{kinds['command']} recorded by `dask blackbox run`, the others by "
            f"`with recording(client)`; {noisy} with noise from other failures.\n"
            "The causes were written down with the scenarios, before any was diagnosed; since "
            "then, rules were fixed because of what was wrong here.",
            corpus,
        ),
    ]
    for label in dict.fromkeys(e.case.held_out for e in held):
        mine = [e for e in held if e.case.held_out == label]
        reported = _held_out().get(label, {}).get("diagnosed", "not yet")
        today = [e for e in now if e.case.held_out == label]
        since = (
            f"\nOf those recordings, the current rules are right on {_share(today)}."
            if today
            else ""
        )
        parts.append(
            _part(
                f"Held out, {label}" + ("" if ":" in label else " set"),
                f"{len(mine)} failures of kinds that the corpus does not have, written before any "
                f"rule was read, recorded and diagnosed once ({reported}); the first answer counts "
                "(`tests/recordings/answers/failures.json`), so fixes since do not change this table."
                f"{since}",
                mine,
            )
        )
    parts.append(_ambiguous(results))
    return "\n\n".join(parts)


def put_into(path: Path, text: str) -> None:
    """Put the verdicts into the page, and leave what others wrote there."""
    old = path.read_text() if path.exists() else f"# Diagnosis\n\n{_BEGIN}\n{_END}\n"
    if _BEGIN not in old:
        old = f"{old.rstrip()}\n\n{_BEGIN}\n{_END}\n"
    before, _, rest = old.partition(_BEGIN)
    after = rest.partition(_END)[2]
    path.write_text(f"{before}{_BEGIN}\n\n{text}\n\n{_END}{after}")


def main() -> int:
    """Diagnose, print, and write the page if it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", default=tempfile.gettempdir() + "/cases")
    parser.add_argument(
        "--kept", action="store_true", help="those that are kept in the repository"
    )
    parser.add_argument("--out", type=Path, help="the page to put the tables in")
    parser.add_argument("--json", type=Path, help="all results, for other programs")
    asked = parser.parse_args()
    if asked.kept:
        results, now = diagnose_kept()
    else:
        results, now = diagnose(Path(asked.store)), again(Path(asked.store))
    waiting = [e for e in results if e.problem == NOT_YET]
    for each in results:
        if each.kind != "right" and each not in waiting:
            print(f"{each.kind:8}{each.confidence:7}{each.case.name:48}{each.problem}")
    print(
        f"{_share(results)} right; {len(waiting)} are not made yet: make.py makes them"
    )
    if asked.out:
        put_into(asked.out, verdicts_page(results, now))
    if asked.json:
        said = [{**e._asdict(), "case": e.case.name} for e in results]
        asked.json.write_text(json.dumps(said, indent=1))
    sure = [e for e in results if e.kind == "wrong" and e.confidence == "high"]
    return 1 if sure else 0


if __name__ == "__main__":
    sys.exit(main())
