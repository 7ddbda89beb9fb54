"""CPU time of redaction and of reading messages, on ordinary and on adversarial text.

python benchmarks/patterns.py [FOLDER]: lines of the kept recordings, or of the text files in a folder.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from dask_blackbox.analyse.explanations.explained import in_one_line
from dask_blackbox.analyse.frames import members_of_group
from dask_blackbox.recorder.redact import Redactor

_LENGTHS = (1_000, 4_000, 32_000)
_STOPPED = 3.0
_ADVERSARIAL: dict[str, Callable[[int], str]] = {
    "echo, blanks, a bar": lambda n: "echo" + " " * n + "|",
    "x-cauthc": lambda n: "x-cauthc" * (n // 8),
    "password, backslashes": lambda n: "password" + "\\" * n,
    "addresses": lambda n: "://a:b" * (n // 6),
    "htpasswd -bbb": lambda n: "htpasswd -" + "b" * n,
    "line breaks": lambda n: "\n" * n,
    "lines of blanks": lambda n: "   \n" * (n // 4),
}


def _seconds(read: Callable[[str], object], text: str) -> float:
    begun = time.thread_time()
    read(text)
    return time.thread_time() - begun


def _grown(
    name: str, read: Callable[[str], object], text: Callable[[int], str]
) -> None:
    shown = []
    last = 0.0
    for length in _LENGTHS:
        if last * (length / 1_000) ** 2 / 8 > _STOPPED:
            shown.append("-")
            continue
        last = min(_seconds(read, text(length)) for _ in range(2))
        shown.append(f"{last:.4f}")
    print(f"| {name} | {' | '.join(shown)} |", flush=True)


def _ordinary(folder: Path) -> list[str]:
    lines: list[str] = []
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.suffix in (".py", ".md", ".txt", ".log", ".toml"):
            lines += file.read_text("utf-8", "replace").splitlines()
    return lines[:40_000]


if __name__ == "__main__":
    folder = Path(
        sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs"
    )
    redactor = Redactor()
    redactor.text("warm up password=x://a:b@c " * 3)
    lines = [*dict.fromkeys(_ordinary(folder))]
    size = sum(map(len, lines))
    seconds = []
    for _ in range(3):
        redactor.mask(())  # it forgets the short texts that it remembers
        seconds.append(_seconds(lambda _: [redactor.text(each) for each in lines], ""))
    best = min(seconds)
    print(
        f"ordinary: {size / 1e6:.2f} MB in {best:.2f} s: {size / 1e6 / best:.2f} MB/s"
    )
    for name, text in _ADVERSARIAL.items():
        _grown(f"redaction: {name}", redactor.text, text)
    for name in ("line breaks", "lines of blanks"):
        _grown(f"in_one_line: {name}", in_one_line, _ADVERSARIAL[name])
        _grown(f"members_of_group: {name}", members_of_group, _ADVERSARIAL[name])
