"""What Dask, Python, the kernel and storage services print, as rows with examples.

Each row has a pattern, an example and who prints it; its name says what the line says.
Rules match through rows, so that a reworded message is found by the tests of the catalogue
(the examples are looked for in the sources of the installed libraries, or printed by them)
rather than by a verdict that has turned into `unknown`.
"""

from __future__ import annotations

from dask_blackbox.analyse.signatures import (
    data_libraries,
    distributed,
    frequent,
    mpi,
    python,
    services,
)
from dask_blackbox.analyse.signatures.signature import (
    Signature,
    Source,
    any_of,
    lines_of,
    printed_by,
)

__all__ = [
    "SIGNATURES",
    "Signature",
    "Source",
    "any_of",
    "lines_of",
    "printed_by",
]

SIGNATURES: dict[str, Signature] = {
    name: each
    for module in (distributed, data_libraries, services, mpi, python, frequent)
    for name, each in vars(module).items()
    if isinstance(each, Signature)
}
"""All rows by name, which says what the line says."""
