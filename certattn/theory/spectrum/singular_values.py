"""Derivation of the formulas of the claim `singular-values`; the checks stand in `matrix_spectra`."""

from __future__ import annotations

from certattn.theory.derivation import Derivation, Step
from certattn.theory.spectrum import matrix_spectra

_STEPS = (
    Step(
        "Rows of the attention matrix",
        "A row is computed from its weights by one quotient. Rows of the centred matrix sum to 0, so that its last "
        "singular value is 0. Checked for 1 to 3 tokens.",
        ("sqrt(d) (w_j/Z - 1/d) = (d w_j - Z) / (sqrt(d) Z)", "Z = sum w_j,   M 1 = 0"),
        (
            r"\sqrt d \left( \frac{w_j}{Z} - \frac1d \right) &= \frac{d\,w_j - Z}{\sqrt d\, Z}",
            r"Z &= \sum_j w_j, \qquad M \mathbf 1 = 0",
        ),
        matrix_spectra.check_rows,
    ),
    Step(
        "Causal rows of the attention matrix",
        "Query n sees the first n of d tokens. Its row is that of a matrix of n tokens, times sqrt(d/n). Centred rows "
        "sum to 0 as before. Checked for up to 3 tokens.",
        ("sqrt(d) (w_j/Z - 1/n) = sqrt(d/n) sqrt(n) (w_j/Z - 1/n)   for j <= n,   0 beyond", "Z = w_1 + ... + w_n"),
        (
            r"\sqrt d \left( \frac{w_j}{Z} - \frac1n \right) &= \sqrt{\frac dn}\, \sqrt n \left( \frac{w_j}{Z} - "
            r"\frac1n \right) \quad (j \le n)",
            r"Z &= \sum_{j \le n} w_j, \qquad M \mathbf 1 = 0",
        ),
        matrix_spectra.check_masked_rows,
    ),
    Step(
        "Lengths under a factor",
        "A factor whose Gram matrix is near the identity changes lengths little. Written in an eigenbasis of the "
        "difference, for 1 to 3 columns.",
        ("(1 - d) |x|^2 <= |U x|^2 <= (1 + d) |x|^2,   d >= |U'U - I|",),
        (
            r"(1 - \delta) \lvert x \rvert^2 &\le \lvert U x \rvert^2 \le (1 + \delta) \lvert x \rvert^2, \qquad "
            r"\delta \ge \lVert U^\top U - I \rVert",
        ),
        matrix_spectra.check_lengths,
    ),
    Step(
        "Distortion by factors",
        "The singular values of the product lie between `s_k` times the roots of both lower and of both upper bounds "
        "(Ostrowski), and those of `M` within the residual of them (Weyl). The lower bound is the one that counts.",
        (
            "c = max(sqrt((1 + dU)(1 + dV)) - 1, 1 - sqrt((1 - dU)(1 - dV)))",
            "|sigma_k(M) - s_k| <= R + s_k c",
        ),
        (
            r"c &= \max\left( \sqrt{(1 + \delta_U)(1 + \delta_V)} - 1,\; 1 - \sqrt{(1 - \delta_U)(1 - \delta_V)} "
            r"\right)",
            r"\lvert \sigma_k(M) - s_k \rvert &\le R + s_k c",
        ),
        matrix_spectra.check_distortion,
    ),
    Step(
        "Entropy of shares",
        "Any number may be taken out of the logarithms, as the shares sum to 1. Where a share may be 0, its term lies "
        "between 0 or its value at the end and the smallest value of the function.",
        ("H = log T - log a - (1/T) sum x_i (log x_i - log a)", "min over x of x log(x/a) = -a/e"),
        (
            r"H &= \log T - \log a - \frac1T \sum_i x_i (\log x_i - \log a)",
            r"\min_x x \log(x/a) &= -a/e",
        ),
        matrix_spectra.check_entropy,
    ),
    Step(
        "Stable rank of a spectrum",
        "It is 1 where one singular value has all the energy, and `n` where all are equal. Checked for 1 to 3 singular "
        "values.",
        ("1 <= sum sigma_k^2 / sigma_1^2 <= n",),
        (r"1 &\le \frac{\sum_k \sigma_k^2}{\sigma_1^2} \le n",),
        matrix_spectra.check_ranks,
    ),
)

DERIVATION = Derivation(
    name="singular-values",
    title="Singular values from approximate factors, and what follows from them",
    source="Horn and Johnson, Matrix Analysis; Roy and Vetterli 2007, The effective rank",
    steps=_STEPS,
)
