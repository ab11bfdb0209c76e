"""Words, numbers and names of statements in LaTeX.

Every character that TeX takes for a command is escaped, and what a statement writes in ASCII is mathematics again:
`<=`, `p_mm`, `sqrt(1/32)`, `2 x 3`, Greek letters. What is not recognised stands as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"{\char34}", "`": r"{\char96}",
}  # fmt: skip
# Longer numbers may go on in the next line.
_LONGEST_UNBROKEN = 40
_DIGITS_TOGETHER = 10
# Where a word is longer than a line, such as that of a tree, it has to break somewhere.
_RUN = rf"[A-Za-z+.]{{{_LONGEST_UNBROKEN},}}"

_NUMBER = r"-?\d+(?:/\d+|(?:\.\d+(?:\.\.\.)?)?(?:[eE][-+]?\d+)?)"
_PARTS = re.compile(r"(?P<sign>-?)(?P<digits>\d+(?:\.\d+(?:\.\.\.)?)?(?:/\d+)?)(?:[eE]\+?(?P<power>-?\d+))?")
_ROOT = re.compile(r"(?P<over>1/)?sqrt\((?P<radicand>[^()]+)\)")
_GREEK = (
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|phi|psi|omega"
    "|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega"
)
_INDEX = r"inf|[A-Za-z0-9]{1,4}|\([\w+ -]{1,12}\)"
# A name ends where a word does, and is no part of a file's.
_BEFORE, _AFTER = r"(?<![\w\\-])", r"(?![\w\[]|-\w|\.[A-Za-z]{2})"
# A letter by itself is a variable, but for the article.
_ALONE, _FOLLOWED = r"(?<![^\s(<|,/\[-])(?<!\w-)", r"(?=[\s)>|,;:/^(\]]|\.(?:\s|$)|$)"
_ARTICLE = r"a(?=[>',^]| =| x>|\()|(?<=[<|])a|A(?! [a-z]{2})"
_IN_POWER = r"(?:[^()]|\([^()]*\)){1,40}"
_SIGNS = {
    "<=": r"$\le$", ">=": r"$\ge$", "->": r"$\to$", " < ": " $<$ ", " > ": " $>$ ", " ~ ": r" $\sim$ ",
    " * ": r" $\cdot$ ", " - ": " $-$ ", " = ": " $=$ ", " + ": " $+$ ", " x ": r" $\times$ ",
    "v_bar": r"$\bar v$", "l2": r"$\ell_2$", "linf": r"$\ell_\infty$", "11'": r"$\mathbf{1}\mathbf{1}'$",
}  # fmt: skip
_KNOWN = re.compile(
    "|".join(
        (
            r"(?P<file>(?<![\w/.-])[\w./-]+\.(?:npz|npy|safetensors)(?:\[[\w./-]*\])?)",
            rf"(?P<root>{_BEFORE}sqrt\((?:{_NUMBER}|[A-Za-z])\))",
            rf"(?P<number>(?<![^\s(]){_NUMBER}(?=[\s,;:)]|\.?(?:\s|$)))",
            rf"(?P<run>(?<!\S){_RUN})",
            r"(?P<sign><=|>=|->| [<>~*=+-] |(?<=\d) x (?=\d)|(?<=\b[a-z]) x (?=[a-z]\b)"
            r"|(?<!\w)(?:v_bar|linf|l2|11')(?!\w))",
            rf"{_BEFORE}(?P<letter>{_GREEK}|sum|sup|max|min|[a-z]bar|[A-Za-z])_(?P<below>{_INDEX}){_AFTER}",
            rf"{_BEFORE}(?P<greek>{_GREEK}){_AFTER}",
            rf"{_ALONE}(?P<variable>[A-Za-z]'(?=[A-Za-z(])|(?:[b-zB-Z]|{_ARTICLE})'*|c[12])(?:(?<=')|{_FOLLOWED})",
            rf"(?<=\b[A-Za-z]')(?P<after>[A-Za-z]){_FOLLOWED}",
            r"(?<=[|)])_(?P<norm>l2|linf|2|F)(?!\w)",
            r"\^(?P<above>inf|-?\d+|-?[A-Za-z](?!\w))",
            rf"(?<=[\w)|])\^\((?P<power>{_IN_POWER})\)",
            rf"{_BEFORE}sqrt\((?P<radicand>{_IN_POWER})\)",
            r"(?P<bar>\|)",
            r"(?P<opening><)(?=[^\s=])",
            r"(?<=\S)(?P<closing>>)",
        )
    ),
    re.ASCII,
)
# What may stand between the formulas of one exponent.
_PLAIN = re.compile(r"[\s\w.,()+*/-]*", re.ASCII)
_SUM = r"(?:[+-](?!\d)|\\cdot(?! ?10)|\\times)"
_SCRIPT = r"(?:\{(?:[^{}]|\{[^{}]*\})*\}|\\?\w+)"


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
        return code(text) if text.lower().lstrip("-").startswith("0x") or re.fullmatch(_RUN, text) else escaped(text)
    digits = _broken(found["digits"]).replace("...", r"\ldots{}")
    if found["power"] is None and not found["sign"]:
        return digits
    power = "" if found["power"] is None else rf"\cdot 10^{{{found['power']}}}"
    return f"${found['sign']}{digits}{power}$"


def words(text: str) -> str:
    """A sentence of a statement."""
    made = {"math": "${}$".format, "code": code, "text": escaped, "number": number}
    return "".join(made[kind](part) for kind, part in spans(text))


def spans(text: str) -> list[tuple[str, str]]:
    """A sentence of a statement in parts: ("text", "number" or "code", as it is) or ("math", LaTeX).

    Formulas with no more than a space between them are one.
    """
    made: list[tuple[str, str]] = [("text", "")]
    for kind, part in _parts(text):
        before, last = made[-1]
        if kind == before == "text":
            made[-1] = (kind, last + part)
        elif kind == "math" and before == "math" and _continues(last, part):
            made[-1] = (kind, _joined(last, part))
        elif kind == "math" and last == " " and made[-2:-1] and _continues(made[-2][1], part) and made[-2][0] == "math":
            made[-2:] = [(kind, _joined(made[-2][1], part))]
        else:
            made.append((kind, part))
    return [(kind, _spaced(part) if kind == "math" else part) for kind, part in made if part]


def _spaced(formula: str) -> str:
    """A sum whose first or last term stands outside keeps the space around its sign."""
    if re.fullmatch(_SUM, formula):
        return formula
    before, after = (("{}" if re.search(end, formula) else "") for end in (rf"^{_SUM}", rf"{_SUM}$"))
    return before + formula + after


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Formulas, names, numbers and what stands between them, one after the other."""
    end = 0
    for match in _KNOWN.finditer(text):
        if between := text[end : match.start()]:
            yield "text", between
        end = match.end()
        kind = str(match.lastgroup)
        if kind in ("file", "run"):
            yield "code", match[0]
        elif kind == "number" and "$" not in number(match[0]):
            yield "number", match[0]
        else:
            for place, part in enumerate(_typeset(match).split("$")):
                if part:
                    yield "math" if place % 2 else "text", part
    if end < len(text):
        yield "text", text[end:]


def _joined(formula: str, part: str) -> str:
    return f"{formula} {part}"


def _continues(formula: str, part: str) -> bool:
    """Whether both are one formula together: two exponents in a row are none."""
    return not re.search(rf"[{re.escape(part[:1])}]{_SCRIPT}\s*$", formula) if part[:1] in ("^", "_") else True


def _typeset(match: re.Match[str]) -> str:
    kind, text = match.lastgroup, match[0]
    if kind in ("number", "root"):
        return number(text)
    if kind == "below":
        return f"${_letter(match['letter'])}_{_index(match['below'])}$"
    if kind == "greek":
        return f"${_letter(text)}$"
    if kind in ("variable", "after"):
        return f"${text[0]}_{text[1]}$" if text[1:].isdigit() else f"${text}$"
    if kind == "norm":
        return f"$_{_index(match['norm'].removeprefix('l'))}$"
    if kind == "above":
        return f"$^{_index(match['above'])}$"
    if kind == "power":
        return _around(match["power"], "^") or escaped(text)
    if kind == "radicand":
        return _around(match["radicand"], r"\sqrt") or escaped(text)
    if kind == "bar":
        return "$|$"
    return _SIGNS[text] if kind == "sign" else {"opening": r"$\langle$", "closing": r"$\rangle$"}[str(kind)]


def _around(text: str, sign: str) -> str:
    """An exponent or a radicand that is a formula; "" for what is none."""
    parts = spans(text)
    if not all(kind in ("math", "number") or _PLAIN.fullmatch(part) for kind, part in parts):
        return ""
    inside = "".join(_word(part) if kind == "text" else f" {part} " for kind, part in parts)
    return f"${sign}{{{' '.join(inside.split())}}}$"


def _word(text: str) -> str:
    """Text in a formula: words upright."""
    return re.sub("[A-Za-z]{2,}", r"\\mathrm{\g<0>}", text)


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
