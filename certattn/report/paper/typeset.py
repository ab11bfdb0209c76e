"""Words, numbers and names of statements in LaTeX.

Every character that TeX takes for a command is escaped, and what a statement writes in ASCII is mathematics again:
`<=`, `p_mm`, `sqrt(1/32)`, `2 x 3`, Greek letters. What is not recognised stands as it is written.
"""

from __future__ import annotations

import re

_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"{\char34}", "`": r"{\char96}",
}  # fmt: skip
# Longer numbers may go on in the next line.
_LONGEST_UNBROKEN = 40
_DIGITS_TOGETHER = 10

_NUMBER = r"-?\d+(?:/\d+|(?:\.\d+)?(?:[eE][-+]?\d+)?)"
_PARTS = re.compile(r"(?P<sign>-?)(?P<digits>\d+(?:\.\d+)?(?:/\d+)?)(?:[eE]\+?(?P<power>-?\d+))?")
_ROOT = re.compile(r"(?P<over>1/)?sqrt\((?P<radicand>[^()]+)\)")
_GREEK = (
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|phi|psi|omega"
    "|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega"
)
_INDEX = r"inf|[A-Za-z0-9]{1,4}|\([\w+ -]{1,12}\)"
# A name ends where a word does, and is no part of a file's.
_BEFORE, _AFTER = r"(?<![\w\\-])", r"(?![\w\[]|-\w|\.[A-Za-z]{2})"
_SIGNS = {
    "<=": r"$\le$", ">=": r"$\ge$", "->": r"$\to$", " < ": " $<$ ", " > ": " $>$ ", " ~ ": r" $\sim$ ",
    " * ": r" $\cdot$ ", " - ": " $-$ ", " x ": r" $\times$ ", "e^(": "exp(", "v_bar": r"$\bar v$", "l2": r"$\ell_2$",
    "linf": r"$\ell_\infty$",
}  # fmt: skip
_KNOWN = re.compile(
    "|".join(
        (
            r"(?P<file>(?<![\w/.-])[\w./-]+\.(?:npz|npy|safetensors)(?:\[[\w./-]*\])?)",
            rf"(?P<root>{_BEFORE}sqrt\((?:{_NUMBER}|[A-Za-z])\))",
            rf"(?P<number>(?<![^\s(]){_NUMBER}(?=[\s,;:)]|\.?(?:\s|$)))",
            r"(?P<sign><=|>=|->| [<>~*-] |(?<=\d) x (?=\d)|(?<!\w)e\^\(|(?<!\w)(?:v_bar|l2|linf)(?!\w))",
            rf"{_BEFORE}(?P<letter>{_GREEK}|sum|sup|max|min|[a-z]bar|[A-Za-z])_(?P<below>{_INDEX}){_AFTER}",
            rf"{_BEFORE}(?P<greek>{_GREEK}){_AFTER}",
            r"(?<=[|)])_(?P<norm>l2|linf|2|F)(?!\w)",
            r"\^(?P<above>inf|-?\d+|-?[A-Za-z](?!\w))",
            r"(?P<opening><)(?=[^\s=])",
            r"(?<=\S)(?P<closing>>)",
        )
    ),
    re.ASCII,
)


def escaped(text: str) -> str:
    """The characters of a text, and nothing that TeX would do. What is not ASCII becomes an escape."""
    plain = text.encode("ascii", "backslashreplace").decode()
    plain = "".join(c if c.isprintable() else repr(c)[1:-1] for c in plain)
    # A ligature would make one dash of two hyphens.
    return re.sub("-(?=-)", "-{}", "".join(_ESCAPES.get(c, c) for c in plain))


def code(text: str) -> str:
    """A name of a file or a key, or a command: the style breaks it into lines, after any character if it must."""
    return rf"\certifiedcode{{{escaped(text).replace(' ', '~')}}}"


def number(text: str) -> str:
    """A number as certificates write them, with the same digits; any other text escaped."""
    if root := _ROOT.fullmatch(text):
        return rf"${'1/' if root['over'] else ''}\sqrt{{{_unsigned(root['radicand'])}}}$"
    found = _PARTS.fullmatch(text)
    if not found:
        return code(text) if text.lower().lstrip("-").startswith("0x") else escaped(text)
    digits = _broken(found["digits"])
    if found["power"] is None and not found["sign"]:
        return digits
    power = "" if found["power"] is None else rf"\cdot 10^{{{found['power']}}}"
    return f"${found['sign']}{digits}{power}$"


def words(text: str) -> str:
    """A sentence of a statement."""
    made, end = [""], 0
    for match in _KNOWN.finditer(text):
        for part in filter(None, (escaped(text[end : match.start()]), _typeset(match))):
            if _continues(made[-1], part):
                made[-1] = f"{made[-1][:-1]} {part[1:]}"
            else:
                made.append(part)
        end = match.end()
    return "".join((*made, escaped(text[end:])))


def spans(text: str) -> list[tuple[str, str]]:
    """A sentence of a statement in parts: ("text" or "code", as it is) or ("math", LaTeX)."""
    made: list[tuple[str, str]] = [("text", "")]
    end = 0
    for match in _KNOWN.finditer(text):
        made.append(("text", text[end : match.start()]))
        end = match.end()
        typeset = _typeset(match)
        if match.lastgroup == "file":
            made.append(("code", match[0]))
        elif "$" not in typeset:
            made.append(("text", match[0] if match.lastgroup == "number" else typeset))
        else:
            made += [("math" if k % 2 else "text", part) for k, part in enumerate(typeset.split("$"))]
    joined = [made[0]]
    for kind, part in filter(lambda span: span[1], [*made[1:], ("text", text[end:])]):
        if kind == joined[-1][0] and (kind == "text" or _continues(f"${joined[-1][1]}$", f"${part}$")):
            joined[-1] = (kind, joined[-1][1] + (" " if kind == "math" else "") + part)
        else:
            joined.append((kind, part))
    return [span for span in joined if span[1]]


def _continues(formula: str, part: str) -> bool:
    """Whether both are mathematics, and one formula together: two exponents in a row are none."""
    twice = any(sign in formula and part.startswith(f"${sign}") for sign in "^_")
    return formula.startswith("$") and part.startswith("$") and not twice


def _typeset(match: re.Match[str]) -> str:
    kind, text = match.lastgroup, match[0]
    if kind == "file":
        return code(text)
    if kind in ("number", "root"):
        return number(text)
    if kind == "below":
        return f"${_letter(match['letter'])}_{_index(match['below'])}$"
    if kind == "greek":
        return f"${_letter(text)}$"
    if kind == "norm":
        return f"$_{_index(match['norm'].removeprefix('l'))}$"
    if kind == "above":
        return f"$^{_index(match['above'])}$"
    return _SIGNS[text] if kind == "sign" else {"opening": r"$\langle$", "closing": r"$\rangle$"}[str(kind)]


def _letter(name: str) -> str:
    """A letter, one with a bar, or the sign of this name."""
    if name[1:] == "bar":
        return rf"\bar {name[0]}"
    return name if len(name) == 1 else f"\\{name}"


def _index(text: str) -> str:
    """What stands below or above a letter: one character, infinity, two indices side by side, or a name."""
    inside = re.sub(rf"\b({_GREEK})(?![A-Za-z])", r"\\\1", text.strip("()"))
    if len(inside) == 1:
        return inside
    if inside == "inf":
        return r"{\infty}"
    return rf"{{\mathit{{{inside}}}}}" if inside.isalpha() and len(inside) > 2 else f"{{{inside}}}"


def _unsigned(text: str) -> str:
    return number(text).strip("$")


def _broken(digits: str) -> str:
    if len(digits) <= _LONGEST_UNBROKEN:
        return digits
    return r"\allowbreak{}".join(digits[i : i + _DIGITS_TOGETHER] for i in range(0, len(digits), _DIGITS_TOGETHER))
