"""The tables of docs/codes.md, from the texts of `certattn explain`.

docs/conf.py puts them where the page has `<!-- generated: codes -->`.
"""

from __future__ import annotations

from collections.abc import Iterable

from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.theorems import CHAPTER_OF
from certattn.report.codes.lookup import VERDICT, general
from certattn.report.codes.obligations import entries, sorts

_SORTS = """## What an outcome means

An obligation belongs to the statement or to the witness: a false one of the statement refutes, one of the witness
rejects. Each is of one of these sorts. The advice is what `certattn explain` gives where an obligation has none of its
own.

"""
_OBLIGATIONS = """## Obligations

`[i]` stands for any index. `certattn check --explain` prints all obligations of a certificate.
"""


def page() -> str:
    """Tables of verdicts and other codes, and of the obligations of every claim."""
    parts = []
    for group, found in general().items():
        labels = [label for label, _ in found[0].more]
        title = group[0].upper() + group[1:] + "s" * (group == VERDICT)
        head = ("code", "says", *labels)
        parts += [f"## {title}\n", table(head, ((f"`{e.code}`", e.says, *(t for _, t in e.more)) for e in found))]
    head = ("sort", "part", "if false", "if undecided", "what to do")
    rows = ((f"`{n}`", " or ".join(s["parts"]), s["false"], s["undecided"], s["do"]) for n, s in sorts().items())
    parts += [_SORTS + table(head, rows), _OBLIGATIONS]
    for claim in CLAIMS:
        parts += [f"### `{claim}`\n", f"Proofs: [{claim}](claims/{CHAPTER_OF[claim]}/{claim}.md).\n", _of_claim(claim)]
    return "\n".join(parts)


def _of_claim(claim: str) -> str:
    """A row for each text: obligations that share one stand together."""
    shared: dict[tuple[str, str, str], list[str]] = {}
    for entry in entries(claim).values():
        do = "" if entry.do == sorts()[entry.sort]["do"] else entry.do
        shared.setdefault((entry.proves, entry.sort, do), []).append(f"`{entry.name}`")
    rows = ((", ".join(names), proves, f"`{sort}`", do) for (proves, sort, do), names in shared.items())
    return table(("obligation", "must hold", "sort", "what to do"), rows)


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table in Markdown; bars in formulas are escaped."""
    lines = [" | ".join(head), "|".join("---" for _ in head)]
    lines += [" | ".join(escaped(cell) for cell in row) for row in rows]
    return "".join(f"| {line} |\n" if i != 1 else f"|{line}|\n" for i, line in enumerate(lines))


def escaped(text: str) -> str:
    """Plain text in Markdown: nothing in formulas is a mark, but code between backticks is code."""
    parts = text.split("`")
    marks = str.maketrans({"|": "\\|", "*": "\\*", "_": "\\_", "<": "\\<", "[": "\\[", "~": "\\~", "$": "\\$"})
    return "`".join(part.replace("|", "\\|") if i % 2 else part.translate(marks) for i, part in enumerate(parts))
