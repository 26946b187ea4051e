"""A picture as SVG, an element a line. Its page is light or dark, as the reader's is; it needs
nothing but Python."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby

STYLE = """
text { font: 13px sans-serif; fill: #1f2328 }
text.title { font-weight: bold }
text.mute { font-size: 12px; fill: #59636e }
text.middle { text-anchor: middle }
text.end { text-anchor: end }
rect.page { fill: #ffffff }
.axis { fill: none; stroke: #59636e }
.grid { fill: none; stroke: #d1d9e0 }
"""
DARK = """
text { fill: #f0f6fc }
text.mute { fill: #9198a1 }
rect.page { fill: #0d1117 }
.axis { stroke: #9198a1 }
.grid { stroke: #3d444d }
"""


class Picture:
    """Elements are drawn in the order in which they are added; styles are classes, `style` and
    `dark` say more of them."""

    def __init__(
        self, width: int, height: int, title: str, style: str = "", dark: str = ""
    ) -> None:
        self.lines = [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
                f' viewBox="0 0 {width} {height}" role="img">'
            ),
            f"<title>{escape(title)}</title>",
            "<style>",
            *(STYLE + style).strip().splitlines(),
            "@media (prefers-color-scheme: dark) {",
            *(DARK + dark).strip().splitlines(),
            "}",
            "</style>",
            '<rect class="page" width="100%" height="100%"/>',
        ]

    def text(self, x: float, y: float, text: str, style: str = "") -> None:
        name = f' class="{style}"' if style else ""
        self.lines.append(f'<text x="{number(x)}" y="{number(y)}"{name}>{escape(text)}</text>')

    def rect(self, x: float, y: float, width: float, height: float, style: str) -> None:
        self.lines.append(
            f'<rect class="{style}" x="{number(x)}" y="{number(y)}" width="{number(width)}"'
            f' height="{number(height)}"/>'
        )

    def path(self, points: list[tuple[float, float]], style: str) -> None:
        places = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self.lines.append(f'<polyline class="{style}" points="{places}"/>')

    def dot(self, x: float, y: float, style: str) -> None:
        self.lines.append(f'<circle class="{style}" cx="{number(x)}" cy="{number(y)}" r="3"/>')

    def grid(
        self,
        middle: tuple[float, float],
        size: tuple[float, float],
        shades: Sequence[Sequence[int | None]],
        style: str,
    ) -> None:
        """Cells of a grid, each of a shade or of none: one path for each shade, `style` and its
        number. A run of equal cells is one stroke, a cell high; `middle` is where the first row's
        begins."""
        paths: dict[int, list[str]] = {}
        places: dict[int, tuple[int, int]] = {}
        for row, cells in enumerate(shades):
            column = 0
            for shade, run in groupby(cells):
                length = len([*run])
                if shade is not None:
                    x, y = places.get(shade, (0, 0))
                    paths.setdefault(shade, []).append(f"m{column - x} {row - y}h{length}")
                    places[shade] = column + length, row
                column += length
        self.lines.append(
            f'<g fill="none" transform="translate({number(middle[0])} {number(middle[1])})'
            f' scale({size[0]:g} {size[1]:g})">'
        )
        self.lines += [
            f'<path class="{style}{shade}" d="{"".join(runs)}"/>'
            for shade, runs in sorted(paths.items())
        ]
        self.lines.append("</g>")

    def finish(self) -> str:
        return "\n".join([*self.lines, "</svg>"]) + "\n"


def number(value: float) -> str:
    """A tenth of a pixel is exact enough."""
    return f"{value:.1f}".removesuffix(".0")
