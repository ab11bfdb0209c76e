"""Words, numbers and names in LaTeX."""

from __future__ import annotations

import pytest

from certattn.kernel.document.numbers import parse_real
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.report.paper.typeset import code, escaped, number, words

from .reading import read_number

# -- numbers


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("12", "12"), ("-3", "$-3$"), ("0.053", "0.053"), ("-2.50", "$-2.50$"), ("7/3", "7/3"), ("-1/6", "$-1/6$"),
        ("1e-9", r"$1\cdot 10^{-9}$"), ("-2.5E+3", r"$-2.5\cdot 10^{3}$"), ("sqrt(2)", r"$\sqrt{2}$"),
        ("1/sqrt(1/32)", r"$1/\sqrt{1/32}$"), ("sqrt(1e-3)", r"$\sqrt{1\cdot 10^{-3}}$"),
        ("0x1.8p-3", r"\certifiedcode{0x1.8p-3}"), ("-0xap+1", r"\certifiedcode{-0xap+1}"),
    ],
)  # fmt: skip
def test_a_number_has_the_digits_of_the_certificate(text: str, latex: str) -> None:
    assert number(text) == latex
    assert read_number(latex) == parse_real(text, DEFAULT_LIMITS)


@pytest.mark.parametrize(
    "text", ["1" * 100, "-0." + "123456789" * 9, "1" * 50 + "/" + "7" * 50, "1." + "2" * 60 + "e-70"]
)
def test_a_long_number_may_be_broken_and_loses_nothing(text: str) -> None:
    latex = number(text)
    assert r"\allowbreak{}" in latex
    assert read_number(latex) == parse_real(text, DEFAULT_LIMITS)


def test_a_word_that_is_longer_than_a_line_may_be_broken() -> None:
    tree = "+a.b+aab." * 20
    assert number(tree) == code(tree)
    assert code(tree) in words(f"the tree is {tree} and ends")


@pytest.mark.parametrize(
    "text", ["", "l2", "1.", ".5", "--1", "1e", "1e-", "sqrt()", "sqrt(2", "1/sqrt(2)x", "nan", "$1$", "1\n", "0.1}"]
)
def test_what_is_no_number_is_text(text: str) -> None:
    assert number(text) == escaped(text)


def test_what_looks_like_a_root_is_escaped_inside() -> None:
    assert number(r"sqrt(\input{x})") == r"$\sqrt{\textbackslash{}input\{x\}}$"


# -- texts


def test_nothing_in_a_text_is_a_command() -> None:
    assert escaped(r"\input{x} 50% #1 a_b ~ ^ & $x$") == (
        r"\textbackslash{}input\{x\} 50\% \#1 a\_b \textasciitilde{} \textasciicircum{} \& \$x\$"
    )
    assert escaped("a--b---c") == "a-{}-b-{}-{}-c"
    assert escaped("é\x1b[2J\n") == r"\textbackslash{}xe9\textbackslash{}x1b[2J\textbackslash{}n"


def test_a_name_keeps_its_spaces() -> None:
    assert code("certattn check 'a b_c.yaml'") == r"\certifiedcode{certattn~check~'a~b\_c.yaml'}"


# -- sentences


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("a <= 2 and b >= -1/2", r"a $\le$ 2 and $b \ge -1/2$"),
        ("|p| -> infinity", r"$| p | \to$ infinity"),
        ("3 x 4 numbers, x 4", r"3 $\times$ 4 numbers, $x$ 4"),
        ("scale sqrt(1/32).", r"scale $\sqrt{1/32}$."),
        ("at 2.97...e-2, 0.33... and -1.5...", r"at $2.97\ldots{}\cdot 10^{-2}$, 0.33\ldots{} and $-1.5\ldots{}$"),
        ("at most 1.5e-9.", r"at most $1.5\cdot 10^{-9}$."),
        ("<k_it, p> >= 1", r"$\langle k_{it}$, $p \rangle \ge$ 1"),
        ("k_(i alpha_i) of mu", r"$k_{i \alpha_i}$ of $\mu$"),
        ("|T' - T|_2 and |x|_linf", r"$| T' - T | _2$ and $| x | _{\infty}$"),
        ("the l2 distance of p_mm and T_inf", r"the $\ell_2$ distance of $p_{mm}$ and $T_{\infty}$"),
        ("theta^L, Sigma^-1, e^-x", r"$\theta ^L$, $\Sigma ^{-1}$, $e ^{-x}$"),
        ("e^(1 <q, k>)", r"$e ^{1 \langle q , k \rangle}$"),
        ("d^-1 tbar_i/m_2, sqrt(d) max_i x_i.k_j", r"$d ^{-1} \bar t_i$/$m_2$, $\sqrt{d} \max_i x_i$.$k_j$"),
        ("v_bar + scale * Cov", r"$\bar v +{}$ scale $\cdot$ Cov"),
        ("keys: 2 x 3 from a/p_1.npz[k_1], rows 0:1",
         r"keys: 2 $\times$ 3 from \certifiedcode{a/p\_1.npz[k\_1]}, rows 0:1"),
        ("density sqrt(4m - x^2)", r"density $\sqrt{4m {}- x ^2}$"),
        ("L^(c2/sigma^2) and F = 2^(floor(k / 2048) - K)",
         r"$L ^{c_2 / \sigma ^2}$ and $F =$ 2$^{\mathrm{floor}( k / 2048 ) {}- K}$"),
        ("U = K'Q, X'softmax(X W'p) and 11'/d", r"$U = K' Q$, $X'$softmax($X W' p$) and $\mathbf{1}\mathbf{1}'$/$d$"),
        ("a prompt. A token x, A x, a = (1, 2)", r"a prompt. A token $x$, $A x$, $a =$ (1, 2)"),
        ("d x d matrices, |A|_F^2 - b^2", r"$d \times d$ matrices, $| A | _F ^2 - b ^2$"),
    ],
)  # fmt: skip
def test_what_a_statement_writes_is_mathematics_again(text: str, latex: str) -> None:
    assert words(text) == latex


@pytest.mark.parametrize(
    "text",
    [
        "at_most",
        "per_query",
        "x_alphabet",
        "x_1.other",
        "x-a_1",
        "alphabet",
        "beta-test",
        "layer0-head6",
        "1.2.3",
        "12th",
        "p[0]",
    ],
)
def test_what_is_not_recognised_stands_as_it_is_written(text: str) -> None:
    assert words(text) == escaped(text)


@pytest.mark.parametrize("text", ["x^2^3", "x_1^2^3", "|x|_2_2", "a_i_j", "mu^2^2", "$$ mu mu $$", "mu$mu", "^2^2 _2"])
def test_no_formula_has_two_exponents(text: str) -> None:
    for formula in words(text).replace(r"\$", "").split("$")[1::2]:
        assert formula.count("^") <= 1
        assert formula.count("_") <= 1
