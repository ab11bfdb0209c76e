"""SVG files of figures as parts of one page: known elements only, styles and letters shared, colours by theme.

A figure brings the outline of each letter that it uses, and a style for each line. A page holds every outline and
every style once. A style becomes a class; its colours have a second value, of the opposite lightness, for dark pages.
"""

from __future__ import annotations

import colorsys
import math
import re
from dataclasses import dataclass, field
from xml.etree import ElementTree

_ELEMENTS = frozenset(["svg", "g", "path", "use", "rect", "clipPath", "defs", "image"])
_LENGTHS = frozenset(["x", "y", "width", "height", "viewBox", "transform", "preserveAspectRatio", "clip-rule"])
_SAFE = re.compile(r"[\w .,()%+-]*")
_PATH = re.compile(r"[MmLlHhVvCcQqZzSsTtAa0-9eE .,+-]*")
_STYLE = re.compile(r"[a-z-]+:\s*[#\w .,()%+-]*")
_EMBEDDED = re.compile(r"data:image/png;base64,[A-Za-z0-9+/=\s]*")
_CLIP = re.compile(r"url\(#([\w-]+)\)")
_REAL = re.compile(r"-?\d+\.\d+")
_COLOUR = re.compile(r"#([0-9a-fA-F]{6})\b")
_HREF = "{http://www.w3.org/1999/xlink}href"
# Letters are outlines in units that are thousands to the letter; everything else is in points.
_GLYPH = re.compile(r"[A-Za-z][\w]*-[0-9a-f]+")
_MOST_CHARACTERS = 8_000_000
# As in page.css.
_CARD = "#1a1e22"
# Of a line, points that are so near it in points of print that nobody sees them missing.
_TOLERANCE = 0.06
_CURVED = re.compile(r"[^MLz0-9eE .,+-]")
_MOVE = re.compile(r"(?=M)")
_NUMBERS = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass
class SharedParts:
    """What the pictures of a page have in common: outlines of letters, and classes by their style."""

    outlines: dict[str, tuple[str, str]] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)
    pictures: int = 0

    def embed(self, svg: str) -> str:
        """The picture as markup for a page. Raises ValueError or SyntaxError for what is no figure of ours."""
        if len(svg) > _MOST_CHARACTERS or "<!ENTITY" in svg:
            raise ValueError("a picture that is too large, or no plain SVG")
        self.pictures += 1
        return ElementTree.tostring(_Rebuilding(self).whole(ElementTree.fromstring(svg)), encoding="unicode")

    @property
    def letters(self) -> str:
        """All outlines, for a picture of no size at the top of the page."""
        root = ElementTree.Element("svg", {"width": "0", "height": "0", "aria-hidden": "true", "class": "letters"})
        defs = ElementTree.SubElement(root, "defs")
        for name, (outline, transform) in sorted(self.outlines.items()):
            ElementTree.SubElement(defs, "path", {"id": name, "d": outline, "transform": transform})
        return ElementTree.tostring(root, encoding="unicode")

    @property
    def styles(self) -> str:
        """The classes, with their colours for light pages and, where the reader prefers them, dark ones."""
        light = [f".{name}{{{style}}}" for style, name in self.classes.items()]
        dark = [f".{name}{{{_dark(style)}}}" for style, name in self.classes.items() if _COLOUR.search(style)]
        return "\n".join([*light, "@media screen and (prefers-color-scheme:dark){", *dark, "}"])

    def class_of(self, style: str) -> str:
        """The class of a style, without what is no plain property; "" for nothing."""
        parts = sorted(part.strip() for part in style.split(";") if part.strip())
        known = [re.sub(r":\s+", ":", part) for part in parts if _STYLE.fullmatch(part)]
        return self.classes.setdefault(";".join(known), f"s{len(self.classes)}") if known else ""

    def takes(self, name: str, outline: str, transform: str) -> bool:
        """Whether this is a letter's outline, and now or before the one of this name."""
        fits = _GLYPH.fullmatch(name) and _PATH.fullmatch(outline) and _SAFE.fullmatch(transform)
        return bool(fits) and self.outlines.setdefault(name, (outline, transform)) == (outline, transform)


class _Rebuilding:
    """One picture, made anew of known elements; its own names get short ones that no other picture has."""

    def __init__(self, shared: SharedParts) -> None:
        self._shared = shared
        self._names: dict[str, str] = {}

    def whole(self, found: ElementTree.Element) -> ElementTree.Element:
        """Raises ValueError for what is no picture."""
        if _name(found) != "svg":
            raise ValueError("no SVG picture")
        made = ElementTree.Element("svg", {key: v for key, v in self._attributes(found).items() if key == "viewBox"})
        made.extend(self._below(found))
        return made

    def _below(self, found: ElementTree.Element) -> list[ElementTree.Element]:
        return [made for child in found for made in self._made(child)]

    def _made(self, found: ElementTree.Element) -> list[ElementTree.Element]:
        """What an element becomes: itself, nothing, or, of a group that says nothing, what is in it."""
        name = _name(found)
        if name not in _ELEMENTS:
            return []
        outline, transform = " ".join(found.get("d", "").split()), found.get("transform", "")
        if name == "path" and self._shared.takes(found.get("id", ""), outline, transform):
            return []
        made = ElementTree.Element(name, self._attributes(found))
        below = self._below(found)
        if name in ("g", "defs") and not (below and made.attrib) and not (name == "defs" and below):
            return below
        made.extend(below)
        return [made]

    def _attributes(self, found: ElementTree.Element) -> dict[str, str]:
        name, made = _name(found), {}
        for key, value in found.attrib.items():
            flat = " ".join(value.split())
            if key == "d" and _PATH.fullmatch(flat):
                made["d"] = simplified(flat)
            elif key in ("x", "y") and _SAFE.fullmatch(flat):
                made[key] = rounded(flat)
            elif key in _LENGTHS and _SAFE.fullmatch(flat):
                made[key] = flat
            elif key == "style" and (styled := self._shared.class_of(flat)):
                made["class"] = styled
            elif key == "id" and name in ("path", "clipPath"):
                made["id"] = self._renamed(value)
            elif key == "clip-path" and (clip := _CLIP.fullmatch(flat)):
                made["clip-path"] = f"url(#{self._renamed(clip[1])})"
            elif key == _HREF and name == "image" and _EMBEDDED.fullmatch(flat):
                made["href"] = flat.replace(" ", "")
            elif key == _HREF and name == "use":
                target = flat.removeprefix("#")
                made["href"] = f"#{target if target in self._shared.outlines else self._renamed(target)}"
        return made

    def _renamed(self, name: str) -> str:
        return self._names.setdefault(name, f"p{self._shared.pictures}-{len(self._names)}")


def _name(found: ElementTree.Element) -> str:
    return found.tag.rpartition("}")[2]


def simplified(path: str) -> str:
    """A path with fewer points: of lines, those that are nearly on the line between others are left out."""
    if _CURVED.search(path):
        return rounded(path)
    lines = [line for line in _MOVE.split(path) if line]
    return " ".join(_line(line) for line in lines)


def _line(text: str) -> str:
    closed = text.rstrip().endswith("z")
    numbers = [float(number) for number in _NUMBERS.findall(text)]
    points = list(zip(numbers[::2], numbers[1::2], strict=False))
    # A straight or two-point line has nothing to leave out; a closed one keeps the point where it turns back.
    kept = points if len(points) < 3 else _without_idle(points)
    coordinates = " ".join(f"{_short(x)} {_short(y)}" for x, y in kept)
    return f"M{coordinates}{'z' if closed else ''}"


def _without_idle(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Ramer, Douglas and Peucker: the ends, and again on both sides of it the point that is farthest from the line."""
    wanted = {0, len(points) - 1}
    stretches = [(0, len(points) - 1)]
    while stretches:
        first, last = stretches.pop()
        away, farthest = max(
            ((_distance(points[k], points[first], points[last]), k) for k in range(first + 1, last)), default=(0.0, 0)
        )
        if away > _TOLERANCE:
            wanted.add(farthest)
            stretches += [(first, farthest), (farthest, last)]
    return [points[k] for k in sorted(wanted)]


def _distance(point: tuple[float, float], first: tuple[float, float], last: tuple[float, float]) -> float:
    """Of a point from a stretch of a line."""
    along = (last[0] - first[0], last[1] - first[1])
    off = (point[0] - first[0], point[1] - first[1])
    square = along[0] ** 2 + along[1] ** 2
    share = min(1.0, max(0.0, (along[0] * off[0] + along[1] * off[1]) / square)) if square > 0 else 0.0
    return math.hypot(off[0] - share * along[0], off[1] - share * along[1])


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def rounded(text: str) -> str:
    """Numbers with two decimals at most: a hundredth of a point cannot be seen."""
    return _REAL.sub(lambda number: _short(float(number[0])), text)


def _dark(style: str) -> str:
    return _COLOUR.sub(lambda colour: _opposite(colour[1]), style)


def _opposite(colour: str) -> str:
    """The same hue, as light as it was dark; white becomes the colour that cards of a dark page have."""
    if colour.lower() == "ffffff":
        return _CARD
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (0, 2, 4))
    hue, light, colourful = colorsys.rgb_to_hls(red, green, blue)
    turned = colorsys.hls_to_rgb(hue, 0.09 + 0.85 * (1 - light), colourful)
    return "#" + "".join(f"{round(255 * part):02x}" for part in turned)
