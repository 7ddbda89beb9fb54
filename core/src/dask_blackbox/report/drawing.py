"""A drawing of rectangles, lines and texts, written as SVG or painted as PNG."""

from __future__ import annotations

import io
from functools import cache
from html import escape
from typing import Any

import msgspec

_FONT = 'role="img" font-family="system-ui, Segoe UI, Roboto, DejaVu Sans, sans-serif"'
_ALMOST_WHITE = 250
_CAP = 0.75  # of a text's size: how high its letters are


class _Box(msgspec.Struct, frozen=True):
    x: float
    y: float
    width: float
    height: float
    colour: str
    opacity: float = 1.0


class _Line(msgspec.Struct, frozen=True):
    points: tuple[tuple[float, float], ...]
    colour: str
    width: float = 1.0


class _Text(msgspec.Struct, frozen=True):
    x: float
    y: float
    text: str
    colour: str
    size: float = 12.0
    anchor: str = "start"


class Drawing(msgspec.Struct):
    """Shapes in the order in which they are painted; the background is white.

    Attributes:
        width: Pixels.
        height: Pixels.
        title: What it shows, for who cannot see it.
    """

    width: int
    height: int
    title: str
    shapes: list[_Box | _Line | _Text] = msgspec.field(default_factory=list)

    def box(
        self, x: float, y: float, width: float, height: float, colour: str,
        *, opacity: float = 1.0,
    ) -> None:  # fmt: skip
        """Add a filled rectangle."""
        self.shapes.append(_Box(x, y, width, height, colour, opacity))

    def line(
        self, points: list[tuple[float, float]], colour: str, *, width: float = 1.0
    ) -> None:
        """Add a line through points."""
        if len(points) > 1:
            self.shapes.append(_Line(tuple(points), colour, width))

    def cross(self, x: float, y: float, colour: str, *, radius: float = 4.0) -> None:
        """Add a cross."""
        r = radius
        self.line([(x - r, y - r), (x + r, y + r)], colour, width=2.2)
        self.line([(x - r, y + r), (x + r, y - r)], colour, width=2.2)

    def text(
        self, x: float, y: float, text: str, colour: str,
        *, size: float = 12.0, anchor: str = "start",
    ) -> None:  # fmt: skip
        """Add a text; `y` is its middle, `anchor` is start, middle or end."""
        self.shapes.append(_Text(x, y, text, colour, size, anchor))


def as_svg(drawing: Drawing) -> str:
    """Return a drawing as a document that needs neither style nor font of its own."""
    size = f'width="{drawing.width}" height="{drawing.height}"'
    view = f'viewBox="0 0 {drawing.width} {drawing.height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} {_FONT}>',
        f"<title>{escape(drawing.title)}</title>",
        f'<rect {size} fill="#ffffff"/>',
        *map(_svg, drawing.shapes),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _svg(shape: _Box | _Line | _Text) -> str:
    if isinstance(shape, _Box):
        faint = f' fill-opacity="{shape.opacity:.3g}"' if shape.opacity < 1 else ""
        return (
            f'<rect x="{_short(shape.x)}" y="{_short(shape.y)}" '
            f'width="{_short(shape.width)}" height="{_short(shape.height)}" '
            f'fill="{shape.colour}"{faint}/>'
        )
    if isinstance(shape, _Line):
        points = " ".join(f"{_short(x)},{_short(y)}" for x, y in shape.points)
        return (
            f'<polyline points="{points}" fill="none" stroke="{shape.colour}" '
            f'stroke-width="{_short(shape.width)}"/>'
        )
    return (
        f'<text x="{_short(shape.x)}" y="{_short(shape.y + shape.size * _CAP / 2)}" '
        f'font-size="{_short(shape.size)}" text-anchor="{shape.anchor}" '
        f'fill="{shape.colour}">{escape(shape.text)}</text>'
    )


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def as_png(drawing: Drawing, *, scale: int = 2) -> bytes:
    """Return a drawing as an image of `scale` times its size."""
    from PIL import Image, ImageDraw

    size = (drawing.width * scale, drawing.height * scale)
    image = Image.new("RGB", size, "#ffffff")
    pen = ImageDraw.Draw(image, "RGBA")
    for shape in drawing.shapes:
        _paint(pen, shape, scale)
    # The default method finds better colours for photographs, and takes eight times as long.
    few = image.quantize(256, Image.Quantize.FASTOCTREE)
    palette = few.getpalette() or []
    few.putpalette([255 if part >= _ALMOST_WHITE else part for part in palette])
    out = io.BytesIO()
    few.save(out, "PNG")
    return out.getvalue()


def _paint(pen: Any, shape: _Box | _Line | _Text, scale: int) -> None:
    if isinstance(shape, _Box):
        x, y = shape.x * scale, shape.y * scale
        right = max(x, x + shape.width * scale - 1)
        bottom = max(y, y + shape.height * scale - 1)
        pen.rectangle((x, y, right, bottom), _rgba(shape.colour, shape.opacity))
    elif isinstance(shape, _Line):
        points = [(x * scale, y * scale) for x, y in shape.points]
        pen.line(points, shape.colour, max(1, round(shape.width * scale)))
    else:
        anchor = {"start": "lm", "middle": "mm", "end": "rm"}[shape.anchor]
        place = (shape.x * scale, shape.y * scale)
        font = _font(round(shape.size * scale))
        pen.text(place, shape.text, shape.colour, font=font, anchor=anchor)


def _rgba(colour: str, opacity: float) -> tuple[int, int, int, int]:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue, round(255 * opacity)


@cache
def _font(size: int) -> object:
    from PIL import ImageFont

    return ImageFont.load_default(size)
