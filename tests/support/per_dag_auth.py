"""An auth manager whose viewers may not see every DAG, as in large companies."""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import (
    SimpleAuthManager,
)

__all__ = ["PerDagAuthManager"]


class PerDagAuthManager(SimpleAuthManager):
    """Airflow's own, but that DAGs named `private…` are not for viewers."""

    def is_authorized_dag(
        self, *, user: Any, details: Any = None, **asked: Any
    ) -> bool:
        """Return whether somebody may do something with a DAG."""
        if details is not None and str(details.id or "").startswith("private"):
            role = str(user.get_role() if hasattr(user, "get_role") else user.role)
            if role.lower() == "viewer":
                return False
        return super().is_authorized_dag(user=user, details=details, **asked)
