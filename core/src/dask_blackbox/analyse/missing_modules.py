"""Modules that a worker lacks: packages, or files of the driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.frames import came_from_the_cluster
from dask_blackbox.analyse.signatures.python import MODULE_MISSING, NAME_NOT_IN_MODULE
from dask_blackbox.events import DriverAttached, DriverCode, InstalledPackages
from dask_blackbox.patterns import bounded

_FILES_OF_HOSTS = {
    "unusual_prefix_": "a DAG file",
    "__prefect_loader": "a flow file",
    "__main__": "the main module",
    "__mp_main__": "the main module",
}
"""What a module is, by the prefix of the name under which only a host imports it."""
_BY_A_HOST = bounded(rf"^(?:{'|'.join(_FILES_OF_HOSTS)})")


@dataclass(frozen=True, kw_only=True)
class OwnModule:
    """A module that the driver has from a file of its own.

    Attributes:
        name: As it was imported.
        loaded_by_a_host: Only a host's loader of DAG or flow files gives such names.
        found: Its file in the driver, if that has looked for it; a folder's `__init__.py`.
    """

    name: str
    loaded_by_a_host: bool
    found: str = ""

    @property
    def folder(self) -> bool:
        """Whether it is (in) a folder of modules: one file alone is of no use there."""
        return "." in self.name or self.found.endswith("__init__.py")

    @property
    def file_of_host(self) -> str:
        """What it is to the host that loaded it; "a file of the driver's" if none has."""
        begins = (each for each in _FILES_OF_HOSTS if self.name.startswith(each))
        return _FILES_OF_HOSTS.get(next(begins, ""), "a file of the driver's")

    @property
    def file(self) -> str:
        """What its file is probably called."""
        return f"{self.name.replace('.', '/')}.py"

    def origin_sentence(self) -> str:
        """Return a sentence on where the driver has it from."""
        if self.loaded_by_a_host:
            return "The host that loaded the file assigned that name."
        where = f" ({self.found})" if self.found else ""
        return (
            f"The driver imported that module from its own file{where}, not from an "
            "installed package."
        )


def missing_module(text: str) -> str | None:
    """Return the module that a text reports as missing."""
    found = MODULE_MISSING.search(text)
    return found["name"] if found else None


def module_missing_on_cluster(case: Case) -> str | None:
    """Return the module that code of the driver's missed on the cluster, outside tasks.

    In a plugin's setup, in an uploaded file, in a function that `client.run` took there.
    """
    exception = case.exception
    if exception is None or case.blame.failure is not None:
        return None
    wanted = missing_module(exception.message)
    there = came_from_the_cluster(exception.traceback)
    return wanted if wanted and there else None


def lacking_module(text: str) -> str | None:
    """Return the module in which a name is missing, according to a text."""
    found = NAME_NOT_IN_MODULE.search(text)
    # A main script belongs to no package.
    return found["name"] if found and not _BY_A_HOST.match(found["name"]) else None


def own_module(case: Case, name: str) -> OwnModule | None:
    """Return a module if the driver had it from a file of its own, not of a package."""
    top = name.split(".", maxsplit=1)[0]
    by_a_host = bool(_BY_A_HOST.match(top))
    known: set[str] = set()
    for code in case.run.of(DriverCode):
        known.update(code.modules)
    found = _found_by_the_driver(case, name)
    own_file = bool(found.get("file")) and "package" not in found
    if not by_a_host and not {name, top} & known and not own_file:
        return None
    file = found.get("file", "") if own_file else ""
    return OwnModule(name=name, loaded_by_a_host=by_a_host, found=file)


def _found_by_the_driver(case: Case, name: str) -> dict[str, str]:
    """Return where the driver had the module of its exception; empty if it had not."""
    known = [each.found for each in case.outcome.received if each.found]
    if case.exception is not None:
        known.append(case.exception.found)
    top = name.partition(".")[0]
    return next((e for e in known if e.get("module", "").partition(".")[0] == top), {})


def package_of(case: Case, module: str) -> str:
    """Return the distribution that a module comes from: not always of its name."""
    return _found_by_the_driver(case, module).get("package") or module


def worker_has_package(case: Case, worker: str, module: str) -> str | None:
    """Return a worker's version of the distribution of a module, or None.

    Workers with equal packages are queried once: what one of them has, the others have.
    """
    every = [f for f in case.run.of(InstalledPackages) if f.role == "worker"]
    events = [f for f in every if f.subject == worker] or every
    return _version_among(events[-1].packages if events else {}, case, module)


def _version_among(
    packages: Mapping[str, object], case: Case, module: str
) -> str | None:
    wanted = package_of(case, module.partition(".")[0]).lower().replace("_", "-")
    for name, version in packages.items():
        if str(name).lower().replace("_", "-") == wanted:
            return str(version)
    return None


def driver_has_package(case: Case, module: str) -> str | None:
    """Return the driver's version of the distribution of a module, or None.

    An installed module of no known version is of the version "".
    """
    version = _found_by_the_driver(case, module).get("version")
    if version is not None:
        return version
    for driver in case.run.of(DriverAttached):
        version = _version_among(driver.packages, case, module)
        if version is not None:
            return version
    return None
