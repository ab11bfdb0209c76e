"""What a certificate states as an environment of LaTeX, to be pasted into a paper.

The sentence and the formula are those of `statements`. Below them every value of `given` and of `asserts` stands under
its key path, read off the certificate itself: nothing that is asserted can be missing because a sentence leaves it out.
A long list is named by how many numbers it has and by their hash.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Final

from certattn._version import __version__
from certattn.kernel.document.certificate import Certificate, canonical
from certattn.kernel.document.matrices import ANY, read_reference
from certattn.kernel.document.tree import Node
from certattn.kernel.theorems import CHAPTER_OF
from certattn.report.comparison import is_array, is_matrix
from certattn.report.paper.typeset import code, escaped, number, words
from certattn.statements.wording import Statement

STYLE: Final = "certattn.sty"
BIBLIOGRAPHY: Final = "certattn.bib"
# The paper whose theory a claim is about, by its key in the bibliography: that of the chapter, but for these.
_PAPERS: Mapping[str, str] = {
    "attention": "boursier2026softmax", "prompts": "boursier2026softmax", "training": "boursier2026softmax",
    "selection": "tarzanagh2023maxmargin", "spectrum": "hayase2026gaussian",
}  # fmt: skip
_OF_NO_PAPER = ("attention-error", "cache-error", "singular-values")
SOFTWARE: Final = "certattn"

# Longer lists of numbers are named, not written out; so are those of more characters, and longer lists of records.
MOST_NUMBERS = 100
MOST_CHARACTERS = 1000
MOST_RECORDS = 16
_HASH_DIGITS = 12
_WIDTH = 100

# A long formula is several in a row, with wide gaps between them.
_GAPS = re.compile(r"\\qquad|\\quad")
_ROOT = re.compile(r"(?<![\w\\])sqrt\(([^()]+)\)")
_POWER_OF_TEN = re.compile(r"(?<![\w.\\])(\d+(?:\.\d+)?)e(-?\d+)")


def as_latex(certificate: Certificate, statement: Statement) -> str:
    """The environment, for a document that uses the package of `STYLE`."""
    command = f"certattn check {shlex.quote(certificate.path)}"
    return "\n".join(
        (
            rf"% \usepackage{{certattn}} defines this: certattn show --style > {STYLE}",
            rf"% \cite finds its keys in: certattn show --bibtex > {BIBLIOGRAPHY}",
            rf"\begin{{certified}}[{certificate.claim}]{{{certificate.digest}}}",
            rf"\label{{cert:{certificate.digest[:_HASH_DIGITS]}}}",
            _wrapped(words(statement.words)),
            *_formulas(statement.latex),
            *_section("Given", certificate, certificate.given),
            *_section("Asserted", certificate, certificate.asserts),
            _wrapped(_proof(certificate.claim, command)),
            r"\end{certified}",
        )
    )


def paper_of(claim: str) -> str | None:
    """The key of the paper whose theory a claim is about; None where there is none among those cited."""
    return None if claim in _OF_NO_PAPER else _PAPERS.get(CHAPTER_OF[claim])


def shipped(name: str) -> str:
    """The text of `STYLE` or `BIBLIOGRAPHY`."""
    text = files(__package__).joinpath(name).read_text(encoding="ascii")
    return text.replace("<VERSION>", __version__)


def _formulas(latex: str) -> Iterator[str]:
    """Formulas in a row, each on a line of the file and breakable from the next."""
    yield r"\begin{certifiedformulas}"
    for piece in _pieces(latex):
        yield rf"\certifiedformula{{{_with_powers(piece)}}}"
    yield r"\end{certifiedformulas}"


def _with_powers(latex: str) -> str:
    """Decimals with exponents as products with powers of ten, and roots."""
    return _ROOT.sub(r"\\sqrt{\1}", _POWER_OF_TEN.sub(r"\1 \\cdot 10^{\2}", latex))


def _pieces(latex: str) -> list[str]:
    """The parts between wide gaps that stand in no braces."""
    pieces, begin = [], 0
    for gap in _GAPS.finditer(latex):
        before = latex[: gap.start()]
        inside = before.count("{") - before.count(r"\{") > before.count("}") - before.count(r"\}")
        if not (inside or before.count(r"\left") - before.count(r"\leftarrow") > before.count(r"\right")):
            pieces.append(latex[begin : gap.start()])
            begin = gap.end()
    pieces.append(latex[begin:])
    return [piece.strip() for piece in pieces if piece.strip()]


def _proof(claim: str, command: str) -> str:
    # Nothing has been checked here: the sentence must be right for a certificate that is false, too.
    paper = paper_of(claim)
    theory = "" if paper is None else rf" The theory is that of~\cite{{{paper}}}."
    how = rf"{code(command)} proves this, or says why not (certattn~{__version__}~\cite{{{SOFTWARE}}})."
    return rf"\certifiedproof{{{how}{theory}}}"


def _section(title: str, certificate: Certificate, section: Node) -> Iterator[str]:
    yield rf"\begin{{certifiednumbers}}{{{title}}}"
    prefix = f"{section.path}."
    for node, value in _rows(certificate, section):
        yield _wrapped(rf"\certifieditem{{{code(node.path.removeprefix(prefix))}}}{{{value}}}")
    yield r"\end{certifiednumbers}"


def _rows(certificate: Certificate, node: Node) -> Iterator[tuple[Node, str]]:
    """Each value below a node and how it is written, in the order of the certificate."""
    value = node.value
    if is_array(node):
        yield node, _reference(certificate, node)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _rows(certificate, item)
    elif isinstance(value, str) or (is_matrix(node) and _is_short(node)):
        yield node, _written(node)
    elif not is_matrix(node) and len(value) <= MOST_RECORDS:
        for item in value:
            yield from _rows(certificate, item)
    else:
        text = json.dumps(canonical(node.plain()), sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(text.encode("ascii")).hexdigest()
        yield node, f"{_count(node)} values in the certificate, {_hash(digest)}"


def _reference(certificate: Certificate, node: Node) -> str:
    """Shape, number type, file and hash."""
    reference = read_reference(node, certificate.reading, ANY)
    shape = r" \times ".join(map(str, reference.extents))
    first, stop = reference.rows
    rows = "" if (first, stop) == (0, reference.shape[0]) else f", rows {first}:{stop}"
    return f"${shape}$, {escaped(reference.dtype)}, {code(reference.words)}{rows}, {_hash(reference.sha256)}"


def _hash(digest: str) -> str:
    return rf"sha256~\texttt{{{digest[:_HASH_DIGITS]}}}"


def _written(node: Node) -> str:
    """A value, or a list of values in parentheses."""
    if isinstance(node.value, str):
        return number(node.value)
    assert isinstance(node.value, list)
    return f"({', '.join(map(_written, node.value))})"


def _is_short(node: Node) -> bool:
    return _count(node) <= MOST_NUMBERS and len(json.dumps(node.plain())) <= MOST_CHARACTERS


def _count(node: Node) -> int:
    """How many values stand below a node."""
    if isinstance(node.value, str):
        return 1
    items = node.value if isinstance(node.value, list) else list(node.value.values())
    return sum(map(_count, items))


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
