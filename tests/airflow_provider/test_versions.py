"""The provider imports from Airflow only what its oldest supported version has.

`airflow_3_1_1.txt` lists those names; a version is tried in full by the workflow
`airflow.yml`.  Names of newer versions stand in a `try` with an `except ImportError`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import airflow_dask_blackbox

PACKAGE = Path(airflow_dask_blackbox.__file__).parent
KNOWN = set((Path(__file__).parent / "airflow_3_1_1.txt").read_text().splitlines())


def _imported(tree: ast.AST) -> Iterator[str]:
    """Yield what is imported from Airflow without a fallback, as `module:name`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Try) and any(
            "ImportError" in ast.dump(handler) for handler in node.handlers
        ):
            for handler in node.handlers:
                yield from _imported(handler)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "airflow."
        ):
            yield from (f"{node.module}:{alias.name}" for alias in node.names)
        else:
            yield from _imported(node)


def test_only_names_of_the_oldest_version_are_imported() -> None:
    wanted = {
        name
        for file in PACKAGE.rglob("*.py")
        for name in _imported(ast.parse(file.read_text()))
    }

    assert wanted - KNOWN == set()
    assert "airflow.sdk:BaseHook" in wanted
