"""A figure's SVG as a page takes it in: small, in the page's colours, described, its ids its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from xml.etree import ElementTree as ET

_NUMBER = re.compile(r"-?\d+\.\d{3,}")  # finer than a hundredth of a point
_REFERENCE = re.compile(r"^#|url\(#")
_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# What all of a figure has in common stands at its root: matplotlib's default style, and the font.
_COMMON = {"stroke-linejoin": "round", "stroke-linecap": "butt", "font-family": "'DejaVu Sans', sans-serif"}
_GRID = "fill:none;stroke:var(--line)"
_TOLD = ("axes", "axis", "legend", "line2d")  # groups whose part in the figure is told, beside collections


def well_formed(svg: str) -> str:
    """Return SVG in which a character that XML does not know is a replacement character."""
    return _NOT_IN_XML.sub("\ufffd", svg)


def inlined(svg: str, *, described: str, name: str, colours: Mapping[str, str]) -> str:
    """Return a figure's SVG as an image for a page.

    ``described`` says what it shows to who does not see it. ``name`` is the figure's, and no other's on the page;
    ``colours`` maps those of the file to those of the page. ``data-part`` tells which groups hold the axes, the
    legend and what was drawn.
    """
    root = ET.fromstring(svg)
    for dropped in root.findall("{*}metadata") + root.findall("{*}defs[{*}style]"):
        root.remove(dropped)
    told_apart = f"f{blake2b(name.encode(), digest_size=4).hexdigest()}-"
    _shrink(root, told_apart, colours)
    root.attrib |= {"role": "img", "aria-label": well_formed(described), "style": _style(_COMMON)}
    return ET.tostring(root, encoding="unicode")


def _shrink(element: ET.Element, told_apart: str, colours: Mapping[str, str]) -> None:
    """Take what only matplotlib needs out of an element and of all that is in it."""
    element.tag = element.tag.rpartition("}")[2]
    attributes = {name.rpartition("}")[2]: _NUMBER.sub(_rounded, value) for name, value in element.items()}
    own = attributes.pop("id", "")
    if own and element.tag == "g":
        attributes |= _part(own)
    elif own:
        attributes["id"] = told_apart + own
    element.attrib = _shrunk(attributes, told_apart, colours)
    element.tail = None
    if element.tag != "text":
        element.text = None
    for place in reversed(range(len(element))):
        child = element[place]
        _shrink(child, told_apart, colours)
        if child.tag == "g" and not child.attrib:
            element[place : place + 1] = list(child)


def _shrunk(attributes: dict[str, str], told_apart: str, colours: Mapping[str, str]) -> dict[str, str]:
    kept = {name: _REFERENCE.sub(rf"\g<0>{told_apart}", value) for name, value in attributes.items()}
    if kept.get("transform", "").startswith("rotate(-0 "):
        del kept["transform"]
    if "d" in kept:
        kept["d"] = re.sub(r"\s*([A-Za-z])\s*", r"\1", kept["d"]).strip()
    if "style" in kept:
        rules = (rule.split(": ", 1) for rule in kept["style"].split("; "))
        kept["style"] = _style({name: colours.get(rule, rule) for name, rule in rules if _COMMON.get(name) != rule})
        if _GRID in kept["style"]:
            kept.pop("clip-path", None)  # a line of the grid ends where the axes do
    return kept


def _part(own: str) -> dict[str, str]:
    """Tell what a group is by its id: "axes" of "axes_1", "PathCollection" of "PathCollection_3"."""
    part = own.removeprefix("matplotlib.").rpartition("_")[0]
    return {"data-part": part} if part in _TOLD or part.endswith("Collection") else {}


def _style(rules: Mapping[str, str]) -> str:
    return ";".join(f"{name}:{rule}" for name, rule in rules.items())


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")
