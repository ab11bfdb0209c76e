"""Sphinx: MyST Markdown, furo, the docstrings of the public API."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

import certattn
from certattn.kernel.theorems import CHAPTERS, module_of

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # of `tools`, which is not installed

from tools.pages.referee_page import write_or_say

project = "certattn"
author = "The certattn developers"
copyright = "the certattn developers"
version = release = certattn.__version__

# The last one brings MathJax and its fonts with it: the pages are read offline as well, and no server is told of it.
extensions = [
    "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx-mathjax-offline",
]  # fmt: skip
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
    ("py:.*", r"Values|Part|Place|Figure|TypeAliasForwardRef|.*Error, .*"),
    # Words of docstrings: "str to int", "optional".
    ("py:class", r"(?!certattn)[a-z].*"),
]

# Types in docstrings are for people: "exact number" is no class.
napoleon_google_docstring = False
napoleon_use_param = napoleon_use_rtype = False
napoleon_use_ivar = True


class Provers(SphinxDirective):
    """The prover of every claim, by chapter."""

    def run(self) -> list[nodes.Node]:
        lines = [
            line
            for chapter, claims in CHAPTERS.items()
            for line in (f".. rubric:: {chapter}", *(f".. autofunction:: {_prover(claim)}" for claim in claims))
        ]
        found = nodes.Element()
        self.state.nested_parse(StringList("\n\n".join(lines).split("\n"), "provers"), self.content_offset, found)
        return found.children


def _prover(claim: str) -> str:
    return f"{module_of('provers', claim)}.generate"


def signature(
    app: object, what: str, name: str, obj: object, options: object, text: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """`Plain`, a tree of texts, stays a name: written out it fills three lines."""
    return (text and text.replace("TypeAliasForwardRef('Plain')", "Plain")), returned


_GENERATED = re.compile(r"<!-- generated: (\w+) -->")
_WITH_GENERATED = ["cli", "codes", "contributing", "gallery", "trust"]


def generated(app: object, name: str, source: list[str]) -> None:
    """What the code says of itself, where a page has a mark for it: `page()` of tools/pages/NAME_page.py."""
    source[0] = _GENERATED.sub(lambda mark: import_module(f"tools.pages.{mark[1]}_page").page(), source[0])


def short_titles(app: Any, doctree: object) -> None:
    """In the sidebar a claim goes by its name alone: `Claim` would stand there 34 times."""
    if app.env.docname.startswith("claims/"):
        name = next(app.env.tocs[app.env.docname].findall(nodes.reference))
        if name[0].astext() == "Claim ":
            del name[0]


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
    app.connect("doctree-read", short_titles, priority=900)  # type: ignore[attr-defined]
    app.connect("source-read", generated)  # type: ignore[attr-defined]
    app.connect("env-get-outdated", lambda *_: _WITH_GENERATED)  # type: ignore[attr-defined]
    app.connect("html-page-context", sidebar, priority=900)  # type: ignore[attr-defined]
    app.connect("build-finished", page_for_referees)  # type: ignore[attr-defined]
    app.add_directive("provers", Provers)  # type: ignore[attr-defined]
    app.connect("autodoc-process-signature", signature)  # type: ignore[attr-defined]


# W3C's notation of grammars is none that the highlighter knows; it is shown plain.
suppress_warnings = ["misc.highlighting_failure"]
