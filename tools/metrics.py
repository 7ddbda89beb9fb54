"""Print a row of metrics for each distribution: lines, modules, functions, decisions, import cycles.

.venvs/lint/bin/python tools/metrics.py [--longest N] [--decisions N] [--check] [FOLDER…]

FOLDER is a package's folder; default: the three distributions.  Other projects can be
measured by the same script (docs/metrics.md).  `--longest` also lists the N longest functions,
`--decisions` the N with the most decisions.  `--check` fails if a function has more than `MANY`
decisions, or if modules import each other, be it in functions, where import-linter allows it
within a layer.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = [
    ROOT / "core" / "src" / "dask_blackbox",
    ROOT / "airflow_provider" / "src" / "airflow_dask_blackbox",
    ROOT / "prefect_collection" / "src" / "prefect_dask_blackbox",
]
MANY = 15
"""The most decisions that a function may have."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BRANCHES = (
    *(ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While),
    *(ast.ExceptHandler, ast.match_case),
)


class Metrics(NamedTuple):
    """The row of one package.

    Attributes:
        package: Its name.
        modules: Number of modules.
        lines: Lines of all modules.
        module: Median of their lines.
        functions: Functions and methods.
        median: Median of their lines.
        longest: Lines of the longest one.
        any: Uses of `Any`.
        cycles: Groups of modules that import each other at import time.
        complex: Functions with more than `MANY` decisions.
        decisions: The most decisions of a function.
        per_if: Conditional expressions for each `if` statement.
        one_caller: Private functions of modules that only one place uses.
    """

    package: str
    modules: int
    lines: int
    module: int
    functions: int
    median: int
    longest: int
    any: int
    cycles: int
    complex: int
    decisions: int
    per_if: float
    one_caller: int


def metrics_of(package: Path) -> Metrics:
    """Measure a package.

    Args:
        package: Its folder.
    """
    texts = {file: file.read_text("utf-8") for file in sorted(package.rglob("*.py"))}
    trees = {file: ast.parse(text) for file, text in texts.items()}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    lengths = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for node in nodes
        if isinstance(node, _FUNCTIONS)
    ]
    decisions = [decisions_of(node) for node in nodes if isinstance(node, _FUNCTIONS)]
    kinds = Counter(map(type, nodes))
    sizes = [len(text.splitlines()) for text in texts.values()]
    return Metrics(
        package=package.name,
        modules=len(texts),
        lines=sum(sizes),
        module=round(statistics.median(sizes)) if sizes else 0,
        functions=len(lengths),
        median=round(statistics.median(lengths)) if lengths else 0,
        longest=max(lengths, default=0),
        any=sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes),
        cycles=len(cycles_in(imports_of(package, trees))),
        complex=sum(number > MANY for number in decisions),
        decisions=max(decisions, default=0),
        per_if=round(kinds[ast.IfExp] / max(kinds[ast.If], 1), 2),
        one_caller=sum(len([*used_once(tree)]) for tree in trees.values()),
    )


def decisions_of(function: ast.AST) -> int:
    """Return how many ways lead through a function: McCabe's number, expressions counted.

    Conditional expressions, the operands of `and` and `or`, and the loops and conditions of
    comprehensions are decisions like those of statements; so are those of nested functions.
    """
    number = 1
    for node in ast.walk(function):
        if isinstance(node, _BRANCHES):
            number += 1
        elif isinstance(node, ast.BoolOp):
            number += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            number += 1 + len(node.ifs)
    return number


def used_once(tree: ast.Module) -> Iterator[str]:
    """Yield the private functions of a module that only one place of it uses."""
    private = [
        each
        for each in tree.body
        if isinstance(each, _FUNCTIONS) and each.name.startswith("_")
    ]
    uses = Counter(_names(ast.walk(tree)))
    for each in private:
        if uses[each.name] - Counter(_names(ast.walk(each)))[each.name] == 1:
            yield each.name


def _names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    return (each.id for each in nodes if isinstance(each, ast.Name))


def functions_by_decisions(package: Path) -> list[tuple[int, str]]:
    """Return the functions of a package with their decisions, the most first."""
    found = [
        (decisions_of(node), f"{file}:{node.lineno} {node.name}")
        for file in sorted(package.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, _FUNCTIONS)
    ]
    return sorted(found, key=lambda each: -each[0])


def too_complex(package: Path) -> list[str]:
    """Return what to print of the functions of a package that have too many decisions."""
    return [
        f"{place} has {number} decisions, more than {MANY}: which fact or table is it lacking?"
        for number, place in functions_by_decisions(package)
        if number > MANY
    ]


def late_cycles(package: Path) -> list[str]:
    """Return what to print of modules that import each other, also while they run."""
    trees = {file: ast.parse(file.read_text("utf-8")) for file in package.rglob("*.py")}
    found = cycles_in(imports_of(package, trees, late=True))
    return [
        f"These modules import each other: {', '.join(sorted(each))}"
        for each in dict.fromkeys(found)
    ]


def longest_functions(package: Path, number: int) -> list[tuple[int, str]]:
    """Return the longest functions of a package, with their lines."""
    found = [
        ((node.end_lineno or node.lineno) - node.lineno + 1, f"{file}:{node.lineno}")
        for file in sorted(package.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, _FUNCTIONS)
    ]
    return sorted(found, reverse=True)[:number]


def imports_of(
    package: Path, trees: Mapping[Path, ast.Module], *, late: bool = False
) -> dict[str, frozenset[str]]:
    """Return which modules of a package each of them imports while it is imported.

    Args:
        package: Its folder.
        trees: Its modules.
        late: Include what functions import, and `import_module` with a name that is written out.
    """
    names = {file: _name_of(file, package) for file in trees}
    known = set(names.values())
    return {
        names[file]: frozenset(
            found
            for each in _imported(
                _late(tree) if late else tree,
                names[file],
                is_package=file.name == "__init__.py",
            )
            if (found := _known_module(each, known)) and found != names[file]
        )
        for file, tree in trees.items()
    }


def cycles_in(imports: Mapping[str, frozenset[str]]) -> list[frozenset[str]]:
    """Return the groups of modules that reach each other."""
    reached = {name: _reach(name, imports) for name in imports}
    groups = {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in imports
    }
    return [group for group in groups if group]


def _reach(start: str, imports: Mapping[str, frozenset[str]]) -> frozenset[str]:
    found: set[str] = set()
    ahead = list(imports[start])
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead.extend(imports[name])
    return frozenset(found)


def _name_of(file: Path, package: Path) -> str:
    parts = file.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _late(tree: ast.Module) -> ast.Module:
    """Return a module with all imports that it ever does at its top level."""
    unused = {
        id(each)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for each in ast.walk(statement)
    }
    nodes = [node for node in ast.walk(tree) if id(node) not in unused]
    found: list[ast.stmt] = [
        each for each in nodes if isinstance(each, ast.Import | ast.ImportFrom)
    ]
    found += [
        ast.Import(names=[ast.alias(name=str(each.args[0].value))])
        for each in nodes
        if isinstance(each, ast.Call)
        and ast.unparse(each.func).endswith("import_module")
        and each.args
        and isinstance(each.args[0], ast.Constant)
    ]
    return ast.Module(body=found, type_ignores=[])


def _imported(tree: ast.Module, name: str, *, is_package: bool) -> Iterator[str]:
    """Yield what a module imports at its top level, type checking left out."""
    for node in _at_import(tree.body):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                up = name.split(".")
                up = up[: len(up) - node.level + is_package]
                base = ".".join([*up, base]) if base else ".".join(up)
            yield from (f"{base}.{each.name}" for each in node.names)


def _at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.If):
            if "TYPE_CHECKING" not in ast.unparse(node.test):
                yield from _at_import([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _at_import([*node.body, *node.orelse, *node.finalbody])
        else:
            yield node


def _known_module(name: str, known: set[str]) -> str | None:
    if name in known:
        return name
    parent = name.rpartition(".")[0]
    return parent if parent in known else None


def _checked(folders: Iterable[Path]) -> int:
    """Print what is wrong with packages; return the exit code."""
    found = [
        line for each in folders for line in (*too_complex(each), *late_cycles(each))
    ]
    print("\n".join(found) or "no cycles, no complex functions")
    return int(bool(found))


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--longest", type=int, default=0, metavar="N")
    parser.add_argument("--decisions", type=int, default=0, metavar="N")
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    folders = asked.folders or PACKAGES
    if asked.check:
        sys.exit(_checked(folders))
    table = [Metrics._fields, *(tuple(map(str, metrics_of(each))) for each in folders)]
    widths = [max(len(row[i]) for row in table) for i in range(len(Metrics._fields))]
    for row in table:
        first, *others = (
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *others]))
    for folder in folders:
        for lines, place in longest_functions(folder, asked.longest):
            print(f"{lines:5}  {place}")
        for number, place in functions_by_decisions(folder)[: asked.decisions]:
            print(f"{number:5}  {place}")


if __name__ == "__main__":
    main()
