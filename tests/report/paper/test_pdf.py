"""All of the gallery as one document, compiled: no error, nothing undefined, and every asserted number in the text."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import certattn
from certattn.kernel.document.tree import Plain
from certattn.report.paper.theorem import BIBLIOGRAPHY, STYLE, as_latex, shipped
from certattn.report.paper.typeset import code, number, words
from certattn.statements.wording import statement_of

from .reading import rows

ROOT = Path(__file__).resolve().parent.parent.parent.parent
GALLERY = sorted((ROOT / "certificates").rglob("*.yaml"))
PROGRAMS = ("pdflatex", "bibtex", "pdftotext")
PRINTABLE = "".join(map(chr, range(32, 127)))
# What strangers may have written, in every role.
HOSTILE = (
    PRINTABLE,
    PRINTABLE[::-1],
    r"\input{x} $\undefined$ \end{certified} %",
    "x^2^3_4 |a|_2_2 $$mu mu$$ {",
    "`\"'--?`",
)
# A little more than any line of the gallery; a statement that has nowhere to break would stand out by hundreds.
MOST_POINTS_TOO_WIDE = 20


@dataclass(frozen=True)
class Document:
    log: str
    text: str


@pytest.fixture(scope="module")
def programs() -> None:
    """TeX, where it is installed; where the tests must not pass without it, its absence is a failure."""
    without = [program for program in PROGRAMS if shutil.which(program) is None]
    if without:
        assert not os.environ.get("CERTATTN_REQUIRE_TEX"), f"CERTATTN_REQUIRE_TEX is set, and {without} were not found"
        pytest.skip(f"{', '.join(without)} not installed; test_theorem.py reads the same LaTeX without TeX")


def compiled(folder: Path, body: str, options: str = "") -> Document:
    """The log of the last of three runs, and the text of all pages, whose numbers are those of the statements alone."""
    for name in (STYLE, BIBLIOGRAPHY):
        (folder / name).write_text(shipped(name))
    head = rf"\documentclass[{options}]{{article}}\usepackage{{certattn}}\pagestyle{{empty}}\begin{{document}}"
    foot = r"\bibliographystyle{plain}\bibliography{certattn}\end{document}"
    (folder / "paper.tex").write_text(f"{head}\n{body}\n{foot}\n")
    for command in ("pdflatex", "bibtex", "pdflatex", "pdflatex"):
        given = (
            ["paper"]
            if command == "bibtex"
            else ["-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper"]
        )
        done = subprocess.run([command, *given], cwd=folder, capture_output=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout.decode("latin-1")[-2000:]
    subprocess.run(["pdftotext", "-raw", "paper.pdf", "paper.txt"], cwd=folder, timeout=60, check=True)
    return Document((folder / "paper.log").read_text("latin-1"), (folder / "paper.txt").read_text())


def digits(tree: Plain) -> Iterator[str]:
    """The digits of every number below a tree, as a page shows them: those of a power of ten stand by themselves."""
    if isinstance(tree, str):
        if not re.match("-?0x", tree):
            yield from re.findall(r"\d+(?:\.\d+)?", tree)
    else:
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from digits(item)


def flat(text: str) -> str:
    return "".join(text.split())


@pytest.mark.heavy
def test_the_gallery_compiles_and_its_pages_have_every_asserted_number(programs: None, tmp_path: Path) -> None:
    certificates = [certattn.load(path) for path in GALLERY]
    made = [as_latex(certificate, statement_of(certificate)) for certificate in certificates]
    document = compiled(tmp_path, "\n\n".join(made))
    assert not re.search("warning|undefined|multiply defined", document.log, re.IGNORECASE)
    assert max(map(float, re.findall(r"Overfull \\hbox \(([\d.]+)pt", document.log)), default=0) < MOST_POINTS_TOO_WIDE
    text = flat(document.text)
    for certificate, latex in zip(certificates, made, strict=True):
        stated, found, text = text.partition(certificate.digest)
        assert found, certificate.path
        section = stated.rpartition("Asserted")[2]
        for path, row in rows(latex, "Asserted").items():
            assert path in section, (certificate.path, path)
            if "values in the certificate" in row:
                assert flat(re.sub(r"~\\texttt\{(\w+)\}", r"\1", row)) in section
        for run in digits(written_out(certificate.plain["asserts"], rows(latex, "Asserted"))):
            assert run in section, (certificate.path, run)


def test_other_digits_are_noticed() -> None:
    tree: Plain = {"at_most": "0.053", "scale": "sqrt(2)", "power": "-2.5e-12", "exact": "0x1.8p-3"}
    assert list(digits(tree)) == ["0.053", "2", "2.5", "12"]
    shown = flat("deviation.at most: 0.05\n3 scale: √2 −2.5 · 10−12")
    assert all(run in shown for run in digits(tree))
    for other in ("0.0532", "0.153", "2.51e-3", "13", "2.5e-13"):
        assert not all(run in shown for run in digits(other))


def written_out(tree: Plain, shown: dict[str, str], path: str = "") -> Plain:
    """What is asserted, without the lists that are named by their hash."""
    if "values in the certificate" in shown.get(path, ""):
        return []
    if isinstance(tree, dict):
        items = {key: written_out(item, shown, f"{path}.{key}" if path else key) for key, item in tree.items()}
        return {key: item for key, item in items.items() if key != "file"}
    if isinstance(tree, list):
        return [written_out(item, shown, f"{path}[{place}]") for place, item in enumerate(tree)]
    return tree


@pytest.mark.heavy
@pytest.mark.parametrize("options", ["", "twocolumn", "10pt,a5paper"])
def test_whatever_strangers_write_compiles(programs: None, tmp_path: Path, options: str) -> None:
    body = "\n\n".join(f"{words(text)} {number(text)} {code(text)}" for text in HOSTILE)
    statement = as_latex(certattn.load(GALLERY[0]), statement_of(certattn.load(GALLERY[0])))
    document = compiled(tmp_path, f"{body}\n\n{statement}", options)
    assert r"\input{x}$\undefined$\end{certified}%" in flat(document.text)
    assert PRINTABLE.replace(" ", "").replace("'", "’").replace("`", "‘").replace('"', "”")[3:20] in flat(document.text)
