"""What OpenLineage has of a run: its datasets, and the facet with the verdict and the measures.

Its schema is `docs/openlineage/DaskRunFacet.json`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

from dask_blackbox.card_data import CardData
from dask_blackbox.patterns import bounded

__all__ = ["FACET", "dataset_names", "datasets_at", "run_facet"]

FACET: Final = "daskRun"
"""Name of the facet among those of a run."""

_SCHEMA: Final = (
    "https://dask-blackbox.github.io/dask-blackbox/latest/openlineage/DaskRunFacet.json"
    "#/$defs/DaskRunFacet"
)

_SCHEMES: Final = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
_OBJECT_STORES: Final = frozenset({"abfs", "abfss", "gs", "s3", "wasb", "wasbs"})
"""Where a dataset's name is an object's key, without a leading slash."""
_MOST_FILES: Final = 10
_PATTERN: Final = bounded(r"/[^/]{0,400}[*?\[]")
"""The first part of a path that is a pattern of names."""


def dataset_names(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Return namespace and name of the datasets that paths are, by OpenLineage's naming.

    Many files of one folder are that folder, and a pattern (`*.csv`) is its folder, too.

    Args:
        paths: Absolute ones, and URLs.
    """
    whole = [_PATTERN.split(each, maxsplit=1)[0] for each in paths]
    files = Counter(each.rpartition("/")[0] for each in whole)
    folders = (
        each.rpartition("/")[0]
        if files[each.rpartition("/")[0]] > _MOST_FILES
        else each
        for each in whole
    )
    return list(dict.fromkeys(_dataset_name(each) for each in folders))


def _dataset_name(path: str) -> tuple[str, str]:
    parts = urlsplit(path)
    if "://" not in path:
        return "file", path.rstrip("/") or "/"
    scheme = _SCHEMES.get(parts.scheme, parts.scheme)
    name = parts.path.rstrip("/")
    return f"{scheme}://{parts.netloc}", (
        name.lstrip("/") if scheme in _OBJECT_STORES else name
    ) or "/"


def datasets_at(paths: Iterable[str]) -> list[Any]:
    """Return the datasets that paths are, as OpenLineage's client takes them.

    Raises:
        ImportError: if OpenLineage's client is not installed.
    """
    from openlineage.client.event_v2 import Dataset

    return [Dataset(namespace, name) for namespace, name in dataset_names(paths)]


def run_facet(card: CardData, report: str) -> Any:
    """Return the facet of a run, as OpenLineage's client takes it.

    Args:
        card: Of the run.
        report: Where a person reads the report.

    Raises:
        ImportError: if OpenLineage's client is not installed.
    """
    verdict = card.verdict
    return _facet_class()(
        state=card.state,
        headline=card.headline,
        rule=verdict and verdict.rule,
        cause=verdict and verdict.cause,
        remedy=verdict and verdict.remedy,
        confidence=verdict and verdict.confidence,
        retry=verdict and verdict.retry_advice,
        report=report,
        numbers=dict(card.numbers),
    )


@cache
def _facet_class() -> Any:
    import attrs
    from openlineage.client.facet_v2 import RunFacet

    @attrs.define
    class DaskRunFacet(RunFacet):
        state: str
        headline: str
        rule: str | None
        cause: str | None
        remedy: str | None
        confidence: str | None
        retry: str | None
        report: str
        numbers: dict[str, float]

        @staticmethod
        def _get_schema() -> str:
            return _SCHEMA

    return DaskRunFacet
