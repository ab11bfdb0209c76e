"""Statements of the gallery in LaTeX hold every value that is given and every number that is asserted."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import certattn
from certattn.kernel.document.certificate import Certificate, canonical, loads
from certattn.kernel.document.numbers import NumberError, parse_real
from certattn.kernel.document.tree import Plain
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.reals import Real
from certattn.report.paper.theorem import (
    BIBLIOGRAPHY,
    MOST_CHARACTERS,
    MOST_NUMBERS,
    MOST_RECORDS,
    STYLE,
    as_latex,
    paper_of,
    shipped,
)
from certattn.statements.wording import statement_of
from certattn.theory.derivation import read

from .reading import read_value, rows

ROOT = Path(__file__).resolve().parent.parent.parent.parent
GALLERY = sorted((ROOT / "certificates").rglob("*.yaml"))
OPERATOR = """\
certattn: 1
claim: infinite-prompt-operator
given: {law: {kind: gaussian, mean: [0, 1], covariance: [[1, 1/2], [1/2, 1]]}, V: [[1, 0]]}
asserts: {operator: {matrix: [[1, 1/2]], offset: [0]}}
"""


def latex_of(certificate: Certificate) -> str:
    return as_latex(certificate, statement_of(certificate))


def plain_values(tree: Plain) -> Iterator[Real | str]:
    """The values below a tree in their order, numbers as the reader reads them."""
    if isinstance(tree, str):
        try:
            yield parse_real(tree, DEFAULT_LIMITS)
        except NumberError:
            yield tree
    else:
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from plain_values(item)


def missing(tree: Plain, shown: dict[str, str], path: str = "") -> list[str]:
    """The key paths of what no row says, or says otherwise; rows that say something are taken out of `shown`."""
    if path in shown:
        said = shown.pop(path)
        return [] if says(said, tree) else [path]
    if isinstance(tree, str) or not tree:
        return [path]
    if isinstance(tree, dict):
        items = {f"{path}.{key}" if path else key: item for key, item in tree.items()}
    else:
        items = {f"{path}[{place}]": item for place, item in enumerate(tree)}
    return [lost for inner, item in items.items() for lost in missing(item, shown, inner)]


def says(row: str, tree: Plain) -> bool:
    """Whether a row says what stands there: an array, a list by its hash, or the very values."""
    if isinstance(tree, dict):
        return str(tree["sha256"])[:12] in row and str(tree["dtype"]) in row.replace("\\", "")
    values = list(plain_values(tree))
    if named := re.fullmatch(r"(\d+) values in the certificate, sha256~\\texttt\{(\w{12})\}", row):
        long = len(values) > MOST_NUMBERS or len(json.dumps(tree)) > MOST_CHARACTERS
        assert long or len(tree) > MOST_RECORDS
        text = json.dumps(canonical(tree), sort_keys=True, separators=(",", ":"))
        return int(named[1]) == len(values) and hashlib.sha256(text.encode()).hexdigest().startswith(named[2])
    return read_value(row) == values


# -- nothing is missing


@pytest.mark.parametrize("claim", certattn.CLAIMS)
def test_every_value_of_the_gallery_stands_in_the_latex(claim: str) -> None:
    for path in GALLERY:
        if path.parent.name == claim:
            certificate = certattn.load(path)
            latex = latex_of(certificate)
            for section, title in (("given", "Given"), ("asserts", "Asserted")):
                shown = rows(latex, title)
                assert missing(certificate.plain[section], shown) == [], path.name
                assert shown == {}, path.name
            assert f"[{claim}]{{{certificate.digest}}}" in latex
            assert latex.count("{") == latex.count("}")
            assert latex.isascii()


def test_what_is_missing_or_changed_is_noticed() -> None:
    certificate = loads(OPERATOR, "cert.yaml")
    latex = latex_of(certificate)
    asserts = certificate.plain["asserts"]
    assert missing(asserts, rows(latex, "Asserted")) == []
    changed = latex.replace("((1, 1/2))}", "((1, 1/3))}")
    assert missing(asserts, rows(changed, "Asserted")) == ["operator.matrix"]
    shorter = latex.replace("((1, 1/2))}", "((1))}")
    assert missing(asserts, rows(shorter, "Asserted")) == ["operator.matrix"]
    lost = re.sub(r"\\certifieditem\{\\certifiedcode\{operator.offset\}\}\{.*\}\n", "", latex)
    assert missing(asserts, rows(lost, "Asserted")) == ["operator.offset[0]"]
    assert missing(asserts, rows(latex, "Given")) == [
        "operator.matrix[0][0]",
        "operator.matrix[0][1]",
        "operator.offset[0]",
    ]


def test_a_long_list_is_named_by_its_numbers_however_they_are_written() -> None:
    path = ROOT / "certificates" / "spectrum" / "singular-values" / "layer0-head6.yaml"
    text, numbers = path.read_text(), certattn.load(path).plain["asserts"]["values"]["value"]  # type: ignore[index,call-overload]

    def row(changed: str) -> str:
        return rows(latex_of(loads(changed, path)), "Asserted")["values.value"]

    assert row(text).startswith("512 values")
    assert text.count(numbers[3]) == 1
    assert row(text.replace(numbers[3], f"{numbers[3]}0")) == row(text)
    assert row(text.replace(numbers[3], f"{numbers[3]}1")) != row(text)


# -- the frame


def test_a_false_certificate_is_not_called_proved() -> None:
    latex = " ".join(latex_of(loads(OPERATOR.replace("1/2]], offset", "0.6]], offset"), "a b.yaml")).split())
    assert r"\certifiedcode{certattn~check~'a~b.yaml'} proves this, or says why not" in latex


def test_a_path_forges_no_line() -> None:
    latex = latex_of(loads(OPERATOR, "x\n\\end{certified}\x1b[2J%.yaml"))
    assert latex.count(r"\end{certified}") == 1
    assert latex.endswith("\n\\end{certified}")
    assert all(c == "\n" or c.isprintable() for c in latex)


@pytest.mark.parametrize("claim", certattn.CLAIMS)
def test_the_paper_is_the_one_that_the_derivation_names(claim: str) -> None:
    named = [key for key, name in AUTHORS.items() if name in read(claim).source]
    assert paper_of(claim) == (named[0] if named else None)


AUTHORS = {"boursier2026softmax": "Boursier", "tarzanagh2023maxmargin": "Tarzanagh", "hayase2026gaussian": "Hayase"}


def test_the_bibliography_has_what_is_cited() -> None:
    keys = re.findall(r"^@\w+\{(\w+),$", shipped(BIBLIOGRAPHY), re.MULTILINE)
    assert sorted(keys) == sorted({*AUTHORS, "certattn"})
    assert f"version {certattn.__version__}" in shipped(BIBLIOGRAPHY)


def test_the_style_defines_what_is_used() -> None:
    style = shipped(STYLE)
    for path in GALLERY[::40]:
        for name in set(re.findall(r"\\(certified\w+)", latex_of(certattn.load(path)))):
            assert re.search(rf"\\newcommand\*?\\{name}\b", style), name
        for name in set(re.findall(r"\\begin\{(\w+)\}", latex_of(certattn.load(path)))):
            assert rf"\newenvironment{{{name}}}" in style, name
