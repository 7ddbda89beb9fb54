from .read import read_stall
from .kpi import margins, combine

__all__ = ["read_stall", "margins", "combine"]
