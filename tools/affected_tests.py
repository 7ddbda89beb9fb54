"""Print the files with tests that what differs from `main` can reach, by the import graph.

    .venvs/lint/bin/python tools/affected_tests.py [COMMIT]

A module of the product reaches the tests that import it, through other modules (grimp) or
through modules of `tests/`.  Tests that start processes run `ENTRIES`, so the modules that
those import reach them as well.  What is no module of the product (a page, a scenario, a
recording) reaches the tests that name it, its folder or all files of its kind.  A change of
what all tests share reaches all.  This is for local work: CI runs every test.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import grimp  # type: ignore[import-not-found]

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {
    "dask_blackbox": "core/src",
    "airflow_dask_blackbox": "airflow_provider/src",
    "prefect_dask_blackbox": "prefect_collection/src",
    "dask_failures": "failure_benchmark/src",
}
REACHES_ALL = re.compile(
    r"uv\.lock$|Makefile$|(.*/)?pyproject\.toml$|tools/|tests/conftest\.py$"
)
"""Files whose change can make any test fail."""

STARTS_PROCESSES = re.compile(
    r"\b(homes|scenario_runs|subprocess|LocalCluster|recording\(|CliRunner)"
)
"""What a test of the core contains that runs `ENTRIES`; those of hosts all do."""

ENTRIES = ("cli", "preload", "driver", "recorder", "autorecord", "capture")
"""Parts of `dask_blackbox` that processes run, and recordings in the process of a test."""


def main(arguments: list[str]) -> int:
    """Print the files; return the exit code."""
    print("\n".join(sorted(affected_tests(_changed_files(*arguments[:1])))))
    return 0


def affected_tests(changed: Iterable[str]) -> set[str]:
    """Return the test files that a change of files can reach, relative to the root."""
    changed = set(changed)
    tests = {_relative(each) for each in _test_files()}
    if any(REACHES_ALL.match(each) for each in changed):
        return tests
    modules = {name for each in changed if (name := _module_of(each))}
    packages = {f"{each}.__init__" for each in modules}
    reached = modules | packages | _importers(modules)
    others = {each for each in changed - tests if not _module_of(each)}
    return {test for test in tests if _is_reached(test, changed, reached, others)}


def _is_reached(
    test: str, changed: set[str], reached: set[str], others: set[str]
) -> bool:
    sources = _sources_of(test)
    beside = f"{test.rpartition('/')[0]}/conftest.py"
    if {*sources, beside} & changed or any(
        _names(_text(test), each) for each in others
    ):
        return True
    starts = any(STARTS_PROCESSES.search(_text(each)) for each in sources)
    if (starts or not test.startswith("tests/core/")) and reached & _entries():
        return True
    # Files of DAGs and flows import their package, not the test.
    hosts = {each for each in reached if each.startswith(_hosts_package(test))}
    return bool(hosts) or any(reached & _imports(each) for each in sources)


def _hosts_package(test: str) -> str:
    found = (each for each in PACKAGES if each.partition("_dask")[0] in test)
    return next(found, "no host")


def _names(text: str, other: str) -> bool:
    """Return whether a test names a file, a folder that it lies in, or all of its kind."""
    *folders, name = other.split("/")
    quoted = [f'"{each}"' for each in folders if each not in ("tests", "core", "src")]
    kind = f"*.{name.rpartition('.')[2]}"
    paths = [f"{each}/" for each in folders[:1] if each == "docs"]
    return any(each in text for each in (name, kind, *quoted, *paths))


@cache
def _graph() -> grimp.ImportGraph:
    sys.path[:0] = [str(ROOT / folder) for folder in PACKAGES.values()]
    return grimp.build_graph(*PACKAGES, cache_dir=None)


def _importers(modules: set[str]) -> set[str]:
    """Return the modules that import these, directly or through others."""
    graph = _graph()
    known = modules & graph.modules
    return {found for each in known for found in graph.find_downstream_modules(each)}


@cache
def _entries() -> frozenset[str]:
    prefixes = tuple(f"dask_blackbox.{each}" for each in ENTRIES)
    return frozenset(each for each in _graph().modules if each.startswith(prefixes))


def _module_of(file: str) -> str | None:
    """Return the name of the product's module that a file holds, if it is one."""
    for folder in PACKAGES.values():
        if file.startswith(f"{folder}/") and file.endswith(".py"):
            name = file.removeprefix(f"{folder}/").removesuffix(".py").replace("/", ".")
            return name.removesuffix(".__init__")
    return None


@cache
def _sources_of(test: str) -> frozenset[str]:
    """Return a test file and the modules of tests that it imports."""
    found = set[str]()
    waiting = [ROOT / test]
    while waiting:
        file = waiting.pop()
        name = _relative(file)
        if name in found or not file.is_file():
            continue
        found.add(name)
        for module in _imports(name):
            stem = module.partition(".")[0]
            waiting += [
                ROOT / "tests" / "support" / f"{stem}.py",
                file.parent / f"{stem}.py",
            ]
    return frozenset(found)


@cache
def _imports(file: str) -> frozenset[str]:
    """Return the names of all modules that a file may import, in functions as well."""
    found = set[str]()
    for node in ast.walk(ast.parse(_text(file))):
        if isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(_origin(node.module, each.name) for each in node.names)
            # What a package re-exports does not reach who imports something else of it.
            found.add(f"{node.module}.__init__")
    return frozenset(found)


@cache
def _origin(module: str, name: str) -> str:
    """Return the module that a name comes from: packages re-export what others define."""
    file = _file_of(module)
    if _file_of(f"{module}.{name}"):
        return f"{module}.{name}"
    if file is None or not file.endswith("/__init__.py"):
        return module
    for node in ast.walk(ast.parse(_text(file))):
        if isinstance(node, ast.ImportFrom) and node.module not in (None, module):
            for each in node.names:
                if (each.asname or each.name) == name:
                    return _origin(node.module, each.name)
    return module


def _file_of(module: str) -> str | None:
    """Return the file of a module of the product."""
    folder = PACKAGES.get(module.partition(".")[0])
    path = f"{folder}/{module.replace('.', '/')}"
    found = (each for each in (f"{path}.py", f"{path}/__init__.py"))
    return next((each for each in found if folder and (ROOT / each).is_file()), None)


@cache
def _text(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


@cache
def _test_files() -> tuple[Path, ...]:
    return tuple(
        each
        for folder in ("tests", "failure_benchmark/tests")
        for each in (ROOT / folder).rglob("test_*.py")
    )


def _relative(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def _changed_files(since: str = "main") -> set[str]:
    """Return the files that differ from a commit's fork, those not in git as well."""
    base = _git("merge-base", since, "HEAD").strip()
    return {
        *_git("diff", "--name-only", base).splitlines(),
        *_git("ls-files", "--others", "--exclude-standard").splitlines(),
    }


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
