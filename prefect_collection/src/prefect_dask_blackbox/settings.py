"""Settings of this collection: `PREFECT_INTEGRATIONS_DASK_BLACKBOX_…`, or in a profile.

[tool.prefect.integrations.dask_blackbox]      # pyproject.toml; prefect.toml without "tool."
store = "block:prod"
"""

from __future__ import annotations

from typing import ClassVar

from prefect.settings.base import PrefectBaseSettings, build_settings_config
from pydantic import AliasChoices, AliasPath, Field
from pydantic_settings import SettingsConfigDict

__all__ = ["DaskBlackboxSettings"]


class DaskBlackboxSettings(PrefectBaseSettings):
    """What counts where neither the decorator nor the task runner says otherwise."""

    model_config: ClassVar[SettingsConfigDict] = build_settings_config(
        ("integrations", "dask_blackbox")
    )

    enabled: bool = Field(
        default=True,
        description="Record flow runs; if not, decorated flows run as plain ones.",
    )
    store: str | None = Field(
        default=None,
        description="Store of recordings: s3://bucket/prefix, a folder, or block:NAME.",
    )
    required: bool = Field(
        default=False, description="Fail flow runs that cannot be recorded."
    )
    fail_flow_on_lost_tasks: bool = Field(
        default=True,
        description="Fail flows that ignore lost tasks.",
    )
    follow_retry_advice: bool = Field(
        default=False,
        description="Do not retry flow runs whose verdict says with high confidence that they fail again.",
    )
    transient_retries: int = Field(
        default=0,
        ge=0,
        description="Additional retries of flow runs whose verdict is a transient failure.",
    )
    fast_submit: bool = Field(
        default=False,
        description="Serialise Prefect's settings once per flow run, not for each task.",
    )
    task_parameters: bool = Field(
        default=True,
        validation_alias=AliasChoices(
            AliasPath("parameters"),
            "parameters",
            "prefect_integrations_dask_blackbox_parameters",
        ),
        description="Show on the card with which arguments tasks were called.",
    )
    long_task: float = Field(
        default=300.0,
        ge=0,
        description="Seconds after which running tasks, of which none finishes, are a stall.",
    )
    job_page: bool = Field(
        default=True,
        description="Show the last runs of each flow on a page of its own.",
    )
    tags: bool = Field(
        default=True, description="Tag failed flow runs with their cause."
    )
