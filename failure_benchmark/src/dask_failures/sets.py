"""The sets: archives of scripts, expectations, recordings and first answers.

A set is a `tar.xz` archive, or a folder with the same layout:

    set.json                 name, title, what it asks
    expected.toml            the cases
    answers.json             the first answers, by case; as they were given
    scripts/CASE…            the script of a case, or its folder
    programs/…               what made the cases of a set that has no scripts
    recordings/CASE/         the recording of a case: JSON and Arrow tables
"""

from __future__ import annotations

import io
import lzma
import shutil
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import msgspec

from dask_failures.case import Case, cases_from
from dask_failures.errors import BadSetError, UnknownSetError

__all__ = ["ARCHIVES", "FailureSet", "SetInfo", "all_sets", "write_archive"]

ARCHIVES = Path(__file__).with_name("sets")
"""Where the archives of the sets are."""

_SUFFIX = ".tar.xz"
_INFO, _EXPECTED, _ANSWERS = "set.json", "expected.toml", "answers.json"


class SetInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a set without its cases.

    Attributes:
        name: Its name, as in the name of its archive.
        title: A sentence about it.
        asks: `cause`: why did the run fail?  `change`: what changed since the last good run?
            Sets that ask for a change have no recordings, and are not scored.
        written: When it was closed, as a date.
    """

    name: str
    title: str
    asks: Literal["cause", "change"] = "cause"
    written: str = ""


class FailureSet:
    """A set, read into memory: the largest has 25 MB.

    Attributes:
        files: All of its files, by path.
        info: Name and title.
        cases: The cases, by name.
    """

    def __init__(self, files: Mapping[str, bytes], origin: Path) -> None:
        self.files = files
        for needed in (_INFO, _EXPECTED):
            if needed not in files:
                raise BadSetError(origin, f"it has no {needed}")
        try:
            self.info = msgspec.json.decode(files[_INFO], type=SetInfo)
        except msgspec.DecodeError as error:
            raise BadSetError(origin, f"{_INFO}: {error}") from error
        self.cases: dict[str, Case] = cases_from(files[_EXPECTED], origin)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open an archive, or a folder that has its layout.

        Raises:
            BadSetError: It is neither.
        """
        if path.is_dir():
            found = {
                each.relative_to(path).as_posix(): each.read_bytes()
                for each in sorted(path.rglob("*"))
                if each.is_file() and "__pycache__" not in each.parts
            }
            return cls(found, path)
        try:
            return cls(dict(_members(path)), path)
        except (OSError, EOFError, tarfile.TarError, lzma.LZMAError) as error:
            raise BadSetError(path, str(error)) from error

    @property
    def name(self) -> str:
        """Its name."""
        return self.info.name

    @cached_property
    def answers(self) -> dict[str, Any]:
        """The first answers of dask-blackbox, by case; empty if none were kept."""
        blob = self.files.get(_ANSWERS, b"{}")
        found: dict[str, Any] = msgspec.json.decode(blob).get("answers", {})
        return found

    @cached_property
    def recorded(self) -> tuple[str, ...]:
        """The names of the cases that have a recording, in the order of the cases."""
        there = {
            name.split("/")[1] for name in self.files if name.startswith("recordings/")
        }
        return tuple(name for name in self.cases if name in there)

    @cached_property
    def scripts(self) -> tuple[str, ...]:
        """The names of the cases that have a script."""
        return tuple(name for name in self.cases if any(self._scripts_of(name)))

    def recording(self, case: str) -> dict[str, bytes]:
        """Return the files of a recording, by name; empty if there is none."""
        return self._below(f"recordings/{case}/")

    def script(self, case: str) -> dict[str, bytes]:
        """Return the files of a script, by path relative to its folder."""
        return dict(self._scripts_of(case))

    def unpack(self, folder: Path) -> None:
        """Write all files of the set into a folder."""
        _write(self.files, folder)

    def unpack_recording(self, case: str, folder: Path) -> None:
        """Write the files of a recording into a folder."""
        _write(self.recording(case), folder)

    def unpack_script(self, case: str, folder: Path) -> None:
        """Write a script, with the files beside it, into a folder."""
        _write(self.script(case), folder)

    def _below(self, folder: str) -> dict[str, bytes]:
        return {
            name.removeprefix(folder): blob
            for name, blob in self.files.items()
            if name.startswith(folder)
        }

    def _scripts_of(self, case: str) -> Iterator[tuple[str, bytes]]:
        for name, blob in self.files.items():
            _, _, path = name.partition("scripts/")
            if name.startswith("scripts/") and path.startswith(
                (f"{case}.", f"{case}/")
            ):
                yield path.removeprefix(f"{case}/"), blob


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(path, "r:xz") as tar:
        for member in tar:
            file = tar.extractfile(member)
            if file is not None:
                yield member.name.partition("/")[2], file.read()


def _write(files: Mapping[str, bytes], folder: Path) -> None:
    for name, blob in files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise BadSetError(folder, f"{name} is outside of its folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(blob)


def all_sets(
    names: Iterable[str] = (), folder: Path = ARCHIVES
) -> Iterator[FailureSet]:
    """Yield sets, one at a time.

    Args:
        names: Their names, or paths of archives or folders; none: all.
        folder: Where the archives are.

    Raises:
        UnknownSetError: There is no set of that name.
        BadSetError: A path is no set.
    """
    there = {
        each.name.removesuffix(_SUFFIX): each
        for each in sorted(folder.glob(f"*{_SUFFIX}"))
    }
    wanted = list(names) or list(there)
    paths = []
    for name in wanted:
        path = there.get(name, Path(name))
        if not path.exists():
            raise UnknownSetError(name, there)
        paths.append(path)
    for path in paths:
        yield FailureSet.open(path)


def write_archive(path: Path, files: Mapping[str, bytes]) -> None:
    """Write the archive of a set: the same files give the same bytes.

    Args:
        path: A file that does not exist yet: sets are never rewritten.
        files: By path within the set.

    Raises:
        FileExistsError: It does.
    """
    name = path.name.removesuffix(_SUFFIX)
    tar_file = io.BytesIO()
    with tarfile.open(fileobj=tar_file, mode="w", format=tarfile.GNU_FORMAT) as tar:
        # Files of a kind side by side: that is what makes it small.
        for member in sorted(files, key=lambda each: (each.split("/")[0], each)):
            info = tarfile.TarInfo(
                f"{name}/{member}"
            )  # its time is 1970, its owner nobody
            info.size, info.mode = len(files[member]), 0o644
            tar.addfile(info, io.BytesIO(files[member]))
    with path.open("xb") as file:
        tar_file.seek(0)
        with lzma.open(file, "w", preset=9) as packed:
            shutil.copyfileobj(tar_file, packed)
