"""What had failed before a symptom, and is not explained by it.

A file that is missing, a wait that was given up or a count that is wrong may follow from an
error that the run itself had handled.  Such a verdict is not proved while one is on record:
the first such error is named before the symptom, and both with medium confidence.

choice    which of it is named before the verdict
links     the rows: which of it may have led there
of_…      what happened, by who did it
"""

from __future__ import annotations

from dask_blackbox.analyse.earlier_failures.choice import (
    with_doubt,
    with_earlier_failures,
    with_end,
)

__all__ = ["with_doubt", "with_earlier_failures", "with_end"]
