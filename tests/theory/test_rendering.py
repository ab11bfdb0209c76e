"""Text for a terminal, LaTeX for a paper."""

from __future__ import annotations

import re
from itertools import accumulate

from certattn.theory import DERIVATIONS
from certattn.theory.rendering import WIDTH, as_latex, as_text, latex_words

# All of them are in amsmath, amssymb or LaTeX itself, and all but sections are in KaTeX and MathJax.
MACROS = set(
    re.findall(
        r"\\[a-zA-Z]+",
        r"""
        \approx \Delta
        \section \subsection \begin \end \frac \tfrac \mathbb \mathcal \operatorname \text \left \right \Big
        \in \lfloor \rfloor
        \Lambda \Gamma \tau \mu \rho \pi \delta \nabla \partial \infty \sum \top \bar \langle \rangle \sim \max \cdot
        \log \ln \cosh \sinh \tanh \coth \qquad \quad \sqrt \le \ge \cdots \big \lambda
        \phi \gamma \theta \int \alpha \sigma \varepsilon \kappa \eta \Psi \beta \varphi \prod \sin \det \hat \mid
        \mapsto \dots \exp \textstyle \mathrm \binom \iff \bigl \bigr \Bigl \Bigr
        \omega \Xi \ell \psi \cos \min \zeta \xi \chi \tan \ne \cup \implies \Longrightarrow \overline \mathbf
        \Sigma \nu \Pi \lim \lVert \rVert \lvert \rvert \Phi \pm
        """,
    )
)

STEPS = [(f"{name}: {step.title}", step) for name, derivation in DERIVATIONS.items() for step in derivation.steps]


def test_text_has_every_step_and_its_formulas() -> None:
    for name, derivation in DERIVATIONS.items():
        text = as_text(derivation)
        for number, step in enumerate(derivation.steps, start=1):
            assert f"\n{number}. {step.title}\n" in text, name
            assert all(line in text for line in step.formula), f"{name}: {step.title}"
        assert "`" not in text, name
        assert max(len(line) for line in text.splitlines()) <= WIDTH + 15, name


def test_latex_has_every_step_and_its_formulas() -> None:
    for name, derivation in DERIVATIONS.items():
        latex = as_latex(derivation)
        for step in derivation.steps:
            assert latex_words(step.title) in latex, name
            assert all(line in latex for line in step.latex), f"{name}: {step.title}"
        assert "`" not in latex, name
        assert latex.isascii(), name


def test_latex_is_balanced() -> None:
    for name, derivation in DERIVATIONS.items():
        latex = as_latex(derivation)
        body = "\n".join(line for line in latex.splitlines() if not line.startswith("%"))
        bare = body.replace(r"\{", "").replace(r"\}", "").replace(r"\$", "")
        depths = list(accumulate({"{": 1, "}": -1}.get(character, 0) for character in bare))
        assert min(depths) == depths[-1] == 0, name
        blocks = re.findall(r"\\(begin|end)\{align\*\}", body)
        assert blocks == ["begin", "end"] * len(derivation.steps), name
        assert body.count(r"\left") == body.count(r"\right"), name
        for part in re.split(r"\\begin\{align\*\}.*?\\end\{align\*\}", bare, flags=re.DOTALL):
            assert part.count("$") % 2 == 0, name
            assert not re.search(r"[_^&#<>]", re.sub(r"\$[^$]*\$|\\[&%#_]", "", part)), name


def test_every_line_of_an_align_block_is_aligned() -> None:
    for title, step in STEPS:
        assert all("&" in line and line.count("{") == line.count("}") for line in step.latex), title
        assert not any(line.endswith("\\\\") or "\n" in line for line in step.latex), title


def test_latex_needs_no_exotic_macros() -> None:
    used = {name: set(re.findall(r"\\[a-zA-Z]+", as_latex(derivation))) for name, derivation in DERIVATIONS.items()}
    assert {name: macros - MACROS for name, macros in used.items() if macros - MACROS} == {}


def test_words_are_plain() -> None:
    for title, step in STEPS:
        assert step.words.isascii(), title
        assert step.words.count("`") % 2 == 0, title
        assert step.words.endswith("."), title


def test_a_transpose_before_a_letter_stays_a_macro() -> None:
    assert latex_words("`K'F`, `<a, B'x> <= 1`") == r"$K^\top F$, $\langle a, B^\top x \rangle \le 1$"


def test_words_are_escaped_and_inline_formulas_are_not() -> None:
    assert latex_words("50% of a_b, `Gamma = B B'` & `<a, x> > 0`") == (
        r"50\% of a\_b, $\Gamma = B B^\top$ \& $\langle a, x \rangle > 0$"
    )
