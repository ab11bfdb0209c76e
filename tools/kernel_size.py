"""How much code has to be trusted: lines of code of `certattn/kernel`, module by module.

    python tools/kernel_size.py

A line of code is a physical line that holds a token other than a comment or a docstring.
"""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

KERNEL = Path(__file__).resolve().parent.parent / "certattn" / "kernel"
_LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT,
    tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


def code_lines(source: str) -> int:
    """The number of lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - _docstring_lines(source))


def _docstring_lines(source: str) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            first = node.body[0]
            lines.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def main() -> None:
    total = physical = 0
    for path in sorted(KERNEL.rglob("*.py")):
        source = path.read_text()
        code, whole = code_lines(source), len(source.splitlines())
        total, physical = total + code, physical + whole
        print(f"{code:5d} of {whole:5d}  {path.relative_to(KERNEL.parent)}")
    print(f"{total:5d} of {physical:5d}  lines of code, of lines with comments and docstrings")


if __name__ == "__main__":
    main()
