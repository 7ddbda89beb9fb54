"""Corrects the readings of buoys by the settings of a survey."""

from typing import Any

from dask.distributed import Client


class Settings:
    """Settings that are read as attributes."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"there is no setting {name!r}") from None


def corrected(reading: float, settings: Settings) -> float:
    return (reading - settings.offset) * settings.scale


if __name__ == "__main__":
    settings = Settings({"offset": 0.4, "scale": 1.02})
    with Client(n_workers=2, threads_per_worker=1) as client:
        readings = client.map(corrected, [i / 7 for i in range(40)], settings=settings)
        print(sum(client.gather(readings)))
