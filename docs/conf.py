"""Sphinx: MyST Markdown, furo, the docstrings of the public API."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import certattn

sys.path.append(str(Path(__file__).resolve().parents[1]))

from tools.pages.referee_page import write_or_say

project = "certattn"
author = "The certattn developers"
copyright = "the certattn developers"
version = release = certattn.__version__

# The last one brings MathJax and its fonts with it: the pages are read offline as well, and no server is told of it.
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx-mathjax-offline"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 3
default_role = "code"

html_theme = "furo"
html_title = "certattn"
html_static_path = ["_static"]
html_css_files = ["certattn.css"]
html_js_files = ["scrollable.js"]
html_show_sourcelink = False
html_copy_source = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"Plain": "Plain"}
python_use_unqualified_type_names = True

# Types of other projects and of the kernel's inside: named in signatures, described elsewhere.
nitpick_ignore_regex = [
    ("py:.*", r"(decimal|flint|fractions|pathlib|collections|typing|enum)\..*|Any|Path|Mapping|Sequence|arb|fmpq"),
    (
        "py:.*",
        r"certattn\.(kernel|provers\.training\.context_prompts)\..*|ArrayFile|Claim|Node|Plain|Reading|Real|Stopwatch",
    ),
    ("py:.*", r"Values|Part|Place"),
]

_PARAMETER = re.compile(r"(\w+(?:, \w+)*) : (.*)")


def parameters(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """`Parameters` as docstrings here write them (a name, a colon, what it means) as reST fields."""
    if "Parameters" not in lines:
        return
    start = lines.index("Parameters")
    del lines[start : start + 2]
    for index in range(start, len(lines)):
        match = _PARAMETER.match(lines[index])
        if match is not None:
            # Of two words before the colon, Sphinx takes the first for a type.
            lines[index] = f":param {match[1].replace(', ', '/')}: {match[2]}"
        elif not lines[index].strip():
            break


def signature(
    app: object, what: str, name: str, obj: object, options: object, text: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """`Plain`, a tree of texts, stays a name: written out it fills three lines."""
    return (text and text.replace("TypeAliasForwardRef('Plain')", "Plain")), returned


def sidebar(app: object, page: str, template: str, context: dict[str, Any], tree: object) -> None:
    """Captions of the sidebar are headings, of which a screen reader has to be told the level."""
    if "furo_navigation_tree" in context:
        told = context["furo_navigation_tree"].replace('role="heading"', 'role="heading" aria-level="2"')
        context["furo_navigation_tree"] = told


def page_for_referees(app: Any, exception: object) -> None:
    """The page that checks certificates in a browser; without Pyodide one that says so, and a line here."""
    if exception is None and app.builder.name == "html" and (said := write_or_say(Path(app.outdir) / "referee")):
        print(said, file=sys.stderr)


def setup(app: object) -> None:
    app.connect("html-page-context", sidebar, priority=900)  # type: ignore[attr-defined]
    app.connect("build-finished", page_for_referees)  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", parameters)  # type: ignore[attr-defined]
    app.connect("autodoc-process-signature", signature)  # type: ignore[attr-defined]


# W3C's notation of grammars is none that the highlighter knows; it is shown plain.
suppress_warnings = ["misc.highlighting_failure"]
