"""Derivation of the bound of the claim `normalizer-bound`; the checks stand in `gaussian_columns`."""

from __future__ import annotations

from certattn.theory.derivation import Derivation, Step
from certattn.theory.spectrum import gaussian_columns

DERIVATION = Derivation(
    "normalizer-bound",
    "What the normaliser of softmax attention changes in its singular values",
    "Hayase, Collins, Karakida, Gaussian Equivalence for Self-Attention, 2026 (arXiv 2510.06685): the limit of the law",
    (
        Step(
            "Dividing by the normaliser",
            "Softmax is the matrix of exponential scores with every row divided by its mean. What that changes in a "
            "row depends on the mean and the mean square of the row only.",
            (
                "sqrt(d)(A - 11'/d) = D⁻¹TΠ,   D = diag(mean(e))",
                "|row of (D⁻¹ - I)TΠ|² = ((1 - mean(e))/mean(e))² (mean(e²) - mean(e)²)",
            ),
            (
                r"\sqrt d\,(A - \tfrac1d 1 1^\top) &= D^{-1} T \Pi, \qquad D = \operatorname{diag}(\bar e_i)",
                r"\lVert ((D^{-1} - I) T \Pi)_i \rVert^2 &= "
                r"\left(\frac{1 - \bar e_i}{\bar e_i}\right)^2 (\overline{e_i^2} - \bar e_i^2)",
            ),
            gaussian_columns.check_rows,
        ),
        Step(
            "Rows with a typical normaliser",
            "The mean of the product of the squared mean and the mean square: given the query, entries of the row are "
            "independent and centred.",
            ("E[mean(t)² mean(t²)] = ((d-1) E v² + E t⁴)/d²,   v = e^(β²|x|²/p) - 1",),
            (
                r"\mathbb E\,\bar t^2\,\overline{t^2} &= \frac{(d-1)\,\mathbb E v^2 + \mathbb E t^4}{d^2}, "
                r"\qquad v = e^{\beta^2 |x|^2/p} - 1",
            ),
            gaussian_columns.check_typical,
        ),
        Step(
            "Rare rows: low normalisers and long queries",
            "By Chernoff's bounds. A sum of independent numbers that are not negative falls below its mean with small "
            "probability, in terms of second moments alone.",
            (
                "P(mean(e) ≤ 1 - θ | x) ≤ exp(-dθ²/(2 E[e²|x])),   E[e²|x] = e^(β²|x|²/p)",
                "P(|x|² > cp) ≤ (c e^(1-c))^(p/2)",
            ),
            (
                r"\mathbb P(\bar e \le 1 - \theta \mid x) &\le "
                r"\exp\left(-\tfrac{d\theta^2}{2} e^{-\beta^2 |x|^2/p}\right)",
                r"\mathbb P(|x|^2 > c p) &\le (c\, e^{1-c})^{p/2}",
            ),
            gaussian_columns.check_rare,
        ),
    ),
)
