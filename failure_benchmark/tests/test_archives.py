"""The archives of the sets: unchanged, complete, described, and without anything personal."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from dask_failures import FailureSet, all_sets
from dask_failures.sets import ARCHIVES

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import index

NAMES = sorted(each.name.removesuffix(".tar.xz") for each in ARCHIVES.glob("*.tar.xz"))

_MAIL = re.compile(rb"(?<![\w.+-])[\w.+-]++@(?:[\w-]+\.)+[a-z]{2,}")
_INVENTED = re.compile(
    rb"@(?:.*\.)?(?:example(?:\.\w+)?|invalid|test|localhost|internal|local)$"
)
_OF_MACHINES = re.compile(
    rb"(?<![\w.-])/(?:work|root)/[\w.-]+|/home/(?!me\b)\w+|/Users/\w+"
    rb'|"machine": ?"(?!machine-|x86_64|aarch64|arm64)[^"]*"'
)


def opened(name: str) -> FailureSet:
    [found] = all_sets([name])
    return found


def personal(blob: bytes) -> Iterator[bytes]:
    """Yield paths of machines, mail addresses and host names that nobody invented."""
    yield from _OF_MACHINES.findall(blob)
    yield from (each for each in _MAIL.findall(blob) if not _INVENTED.search(each))


def test_no_archive_was_rewritten() -> None:
    assert index.CHECKSUMS.read_text() == index.checksums(), (
        "a set never changes; of a new one: failure_benchmark/tools/index.py"
    )


def test_what_is_personal_is_found() -> None:
    path = b"/".join([b"", b"root", b"x"])
    blob = b'ops@example.org a@mail.corp.com %s /srv/x "machine": "laptop-7"' % path

    assert [*personal(blob)] == [
        path,
        b'"machine": "laptop-7"',
        b"a@mail.corp.com",
    ]


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_a_set_holds_nothing_personal(name: str) -> None:
    found = opened(name)
    files = found.files.items()

    assert (
        Counter((file, each) for file, blob in files for each in personal(blob))
        == Counter()
    )


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_a_set_lists_its_cases(name: str) -> None:
    page = (index.PAGES / f"{name}.md").read_text("utf-8")

    assert page == index.page_of(opened(name)), "failure_benchmark/tools/index.py"


@pytest.mark.nightly
def test_names_are_unique_and_nothing_was_lost() -> None:
    sets = {name: opened(name) for name in NAMES}
    names = Counter(
        case
        for name, found in sets.items()
        if name.startswith(("scripts", "reports"))
        for case in found.cases
    )

    assert [name for name, number in names.items() if number > 1] == []
    assert sum(len(found.recorded) for found in sets.values()) >= 2135
