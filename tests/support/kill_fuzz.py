"""The kill fuzzer: random rounds, and the card compared with what happened.

    python tests/support/kill_fuzz.py --rounds 100 --seed 1
    python tests/support/kill_fuzz.py --minutes 15
    python tests/support/kill_fuzz.py --seed 1234 --keep

Each round is drawn from its own seed (`--seed`, and one more each): how the cluster was
started, who records, what is computed, who is hit by what, and when.  What is wrong is
printed with the command that repeats the round.  A campaign (`--minutes`) begins with a seed
of the clock's, which it prints, and ends with how many rounds of each victim went wrong.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from dask_blackbox.testing import EmbeddedS3, embedded_s3
from fuzz_draws import Round, drawn
from fuzz_oracle import Judgement, judged
from fuzz_rounds import run_round
from scenario_runs import Home

__all__ = ["judge_round"]


def judge_round(kind: Round, home: Home, s3: EmbeddedS3 | None = None) -> Judgement:
    """Run a round in a home, and judge it."""
    try:
        return judged(run_round(kind, home, s3))
    except Exception as error:  # noqa: BLE001 - the others are to run too
        found = Judgement([f"{type(error).__name__}: {error}"])
        if not isinstance(error, AssertionError):
            found.wrong.append(traceback.format_exc())
        return found
    finally:
        home.clear()


def _word(found: Judgement) -> str:
    """Return whether a round is right; it is void if nobody was hit."""
    if found.wrong:
        return "WRONG"
    return "right" if found.done else "void "


def _reported(kind: Round, found: Judgement, took: float, kept: Path | None) -> str:
    word = _word(found)
    lines = [f"{word}  {kind.seed}  {kind}  ({took:.0f} s)", f"       {found.seen}"]
    lines += [f"       !! {each}" for each in found.wrong]
    if found.wrong:
        lines.append(
            f"       again: python tests/support/kill_fuzz.py --seed {kind.seed}"
        )
    if kept is not None:
        lines.append(f"       kept in {kept}")
    return "\n".join(lines)


def main() -> int:
    """Fly rounds; return how many went wrong."""
    # Started by `nohup`, all processes of a round would ignore it.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1, help="so many")
    parser.add_argument("--minutes", type=float, help="rounds for so long instead")
    parser.add_argument("--seed", type=int, help="of the first")
    parser.add_argument("--only", nargs="*", default=[], help="rounds with these words")
    parser.add_argument("--but", nargs="*", default=[], help="not those with these")
    parser.add_argument("--list", action="store_true", help="print rounds, fly none")
    parser.add_argument("--keep", action="store_true", help="keep what went wrong")
    options = parser.parse_args()
    campaign = options.minutes is not None
    seed = options.seed or (int(time.time()) if campaign else 1)
    until = time.monotonic() + 60 * (options.minutes or 0)
    finished_runs, void, failed = 0, 0, list[int]()
    if campaign:
        print(
            f"rounds from seed {seed} on, for {options.minutes:g} minutes", flush=True
        )
    tally: Counter[tuple[str, str, str]] = Counter()
    with ExitStack() as ends:
        s3: EmbeddedS3 | None = None
        while time.monotonic() < until if campaign else finished_runs < options.rounds:
            kind, seed = drawn(seed), seed + 1
            if not all(word in str(kind) for word in options.only):
                continue
            if any(word in str(kind) for word in options.but):
                continue
            finished_runs += 1
            if options.list:
                print(kind.seed, kind)
                continue
            if kind.s3 and s3 is None:
                s3 = ends.enter_context(embedded_s3())
            home = Home(Path(tempfile.mkdtemp(prefix="z")))
            begun = time.monotonic()
            found = judge_round(kind, home, s3)
            kept = home.folder if found.wrong and options.keep else None
            print(_reported(kind, found, time.monotonic() - begun, kept), flush=True)
            if kept is None:
                shutil.rmtree(home.folder, ignore_errors=True)
            failed += [kind.seed] if found.wrong else []
            void += not (found.done or found.wrong)
            tally[kind.victim, kind.how, _word(found).lower()] += 1
    for (victim, how, word), number in sorted(tally.items()):
        print(f"{number:4}  {word}  {victim} · {how}")
    seeds = f": seeds {', '.join(map(str, failed))}" if failed else ""
    print(f"{finished_runs} rounds, {void} of them void, {len(failed)} wrong{seeds}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(min(main(), 100))
