"""A derivation as text for a terminal and as a LaTeX fragment."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from certattn.theory.derivation import Derivation

WIDTH = 100
_INLINE = re.compile(r"`([^`]*)`")
_GREEK = re.compile(r"\b(Gamma|Lambda|Sigma|tau|delta|phi|gamma|kappa|lambda|theta|sigma|rho|mu|nu|eta|beta)\b")
_FUNCTIONS = re.compile(r"\b(log|ln|exp|cosh|sinh|tanh|sin|cos|det)\b")
_COMPARISONS = re.compile("<=|>=")
_LATEX_COMPARISONS = {"<=": r"\le", ">=": r"\ge"}
_NAMES = re.compile(r"\bCov\b")
_SUMS = re.compile(r"\bsum_")
_SPECIAL = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}"}


def as_text(derivation: Derivation) -> str:
    """Title, source, and every step in words with its formulas."""
    lines = [derivation.title, f"({derivation.source})"]
    for number, step in enumerate(derivation.steps, start=1):
        words = _INLINE.sub(r"\1", step.words)
        wrapped = textwrap.wrap(words, WIDTH - 4, break_long_words=False, break_on_hyphens=False)
        lines += ["", f"{number}. {step.title}", *(f"    {line}" for line in wrapped), ""]
        lines += [f"        {line}" for line in step.formula]
    return "\n".join(lines)


def as_latex(derivation: Derivation) -> str:
    """A fragment to paste into a document that loads amsmath and amssymb."""
    return "\n".join(_latex_lines(derivation))


def _latex_lines(derivation: Derivation) -> Iterator[str]:
    yield f"% certattn derive {derivation.name} --latex (needs amsmath and amssymb)"
    yield rf"\section*{{{latex_words(derivation.title)}}}"
    yield f"{latex_words(derivation.source)}."
    for number, step in enumerate(derivation.steps, start=1):
        yield ""
        yield rf"\subsection*{{{number}. {latex_words(step.title)}}}"
        yield from textwrap.wrap(latex_words(step.words), WIDTH, break_long_words=False, break_on_hyphens=False)
        yield r"\begin{align*}"
        yield " \\\\\n".join(f"  {line}" for line in step.latex)
        yield r"\end{align*}"


def latex_words(words: str) -> str:
    """Words with formulas between backticks as LaTeX text with inline mathematics."""
    parts = _INLINE.split(words)
    return "".join(_inline(part) if odd % 2 else _escape(part) for odd, part in enumerate(parts))


def _escape(text: str) -> str:
    return "".join(_SPECIAL.get(character, character) for character in text)


def _inline(formula: str) -> str:
    formula = re.sub(r"<([^<>]*, [^<>]*)>", r"\\langle \1 \\rangle", formula)
    formula = _FUNCTIONS.sub(r"\\\1", _GREEK.sub(r"\\\1", formula))
    formula = _SUMS.sub(r"\\sum_", formula)
    formula = _NAMES.sub(r"\\operatorname{Cov}", formula)
    formula = _COMPARISONS.sub(lambda match: _LATEX_COMPARISONS[match[0]], formula)
    # A letter that follows would become part of the macro.
    return "$" + re.sub(r"'(?=[A-Za-z])", r"^\\top ", formula).replace("'", r"^\top") + "$"
