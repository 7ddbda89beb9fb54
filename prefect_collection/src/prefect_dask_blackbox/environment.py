"""What the recorder needs from Prefect: how to reach its API, and which values are secret."""

from __future__ import annotations

from dask_blackbox.guard import guard
from prefect.settings import get_current_settings
from pydantic import SecretBytes, SecretStr

from prefect_dask_blackbox.masked_blocks import secret_texts

__all__ = ["host_environment", "secrets_of_prefect"]

_API = ("url", "key", "auth_string", "tls_insecure_skip_verify", "ssl_cert_file")


def host_environment() -> dict[str, str]:
    """Return how to reach Prefect's API and its UI, as environment variables.

    They go to the recorder over its own pipe and are never written.
    """
    found: dict[str, str] = {}
    with guard("the settings of Prefect"):
        settings = get_current_settings()
        known = {
            f"API_{name.upper()}": getattr(settings.api, name, None) for name in _API
        }
        known["UI_URL"] = getattr(settings, "ui_url", None)
        found = {
            f"PREFECT_{name}": _plain(value) for name, value in known.items() if value
        }
    return found  # noqa: RET504 - the guard swallows errors


def secrets_of_prefect() -> dict[str, str]:
    """Return the secret values of Prefect's settings, under names that say so."""
    found: dict[str, str] = {}
    with guard("the secrets in Prefect's settings"):
        values = secret_texts(get_current_settings())
        found = {f"secret_{i}": value for i, value in enumerate(values)}
    return found  # noqa: RET504 - the guard swallows errors


def _plain(value: object) -> str:
    if isinstance(value, (SecretStr, SecretBytes)):
        value = value.get_secret_value()
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
