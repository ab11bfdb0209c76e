"""The table of scripts on docs/contributing.md, by the first paragraphs of their docstrings.

docs/conf.py puts it where the page has `<!-- generated: tools -->`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tools.pages.codes_page import table

TOOLS = Path(__file__).resolve().parents[1]


def scripts() -> Iterator[tuple[Path, str]]:
    """Every script and its docstring; of a folder that is one program, the folder and that of its `__main__`."""
    programs = {path.parent for path in TOOLS.rglob("__main__.py")}
    for path in sorted(TOOLS.rglob("*.py")):
        if path.name == "__main__.py":
            yield path.parent, _docstring(path)
        elif programs.isdisjoint(path.parents) and path.name != "__init__.py":
            yield path, _docstring(path)


def page() -> str:
    """A row for each."""
    firsts = ((path, " ".join(text.split("\n\n")[0].split())) for path, text in scripts())
    rows = ((f"`{path.relative_to(TOOLS.parent).as_posix()}`", first) for path, first in firsts)
    return table(("script", "docstring"), rows)


def _docstring(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert text, f"{path} has no docstring"
    return text
