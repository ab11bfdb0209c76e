"""Derivation of the formulas of the claim `linearization`; the checks stand in `linear_stages`."""

from __future__ import annotations

from certattn.theory.derivation import Derivation, Step
from certattn.theory.spectrum import linear_stages

_STEPS = (
    Step(
        "Attention and its linear part",
        "Factors of rows leave softmax as it is: centred exponential scores are attention with every row multiplied "
        "by one number. Checked for symbolic queries and keys of 2 and 3 tokens.",
        ("T Pi = diag(1 + tbar) M,   M = sqrt(d) (A - 11'/d)", "L = (s <q_i, k_j>) Pi/sqrt(d)"),
        (
            r"T \Pi &= \operatorname{diag}(1 + \bar t)\, M, \qquad M = \sqrt d\,(A - \tfrac1d 1 1^\top)",
            r"L &= (s \langle q_i, k_j \rangle)\, \Pi / \sqrt d",
        ),
        linear_stages.check_parts,
    ),
    Step(
        "Stages as combinations",
        "Every stage and every difference of two is a combination of attention and its linear part, row by row.",
        ("M - T Pi = -diag(tbar) M", "T Pi - L = diag(1 + tbar) M - L"),
        (
            r"M - T \Pi &= -\operatorname{diag}(\bar t)\, M",
            r"T \Pi - L &= \operatorname{diag}(1 + \bar t)\, M - L",
        ),
        linear_stages.check_stages,
    ),
    Step(
        "Scale and variance of a score",
        "Of tokens with queries `u q_i` and keys `u k_j`. The variance of a score given its query is twice what is "
        "taken off in the exponent.",
        ("s = beta u^2/sqrt(p),   c_i = beta^2 u^2 |q_i|^2/(2p)",),
        (r"s &= \beta u^2 / \sqrt p, \qquad c_i = \frac{\beta^2 u^2 \lvert q_i \rvert^2}{2p}",),
        linear_stages.check_temperature,
    ),
    Step(
        "Covariance of a column of scores",
        "Given the queries, columns of `sqrt(d) T - beta S` are independent for Gaussian keys. Where queries have "
        "length `sqrt(p)` the diagonal of their covariance is `alpha^2`, the variance of the quarter circle. "
        "Checked for one entry of a key at a time, which are independent.",
        ("E t_ij t_lj = e^(beta^2 G_il) - 1", "E (t - beta S)_ij (t - beta S)_lj = e^(beta^2 G_il) - 1 - beta^2 G_il"),
        (
            r"\mathbb E\, t_{ij} t_{lj} &= e^{\beta^2 G_{il}} - 1",
            r"\mathbb E\, (t - \beta S)_{ij} (t - \beta S)_{lj} &= e^{\beta^2 G_{il}} - 1 - \beta^2 G_{il}",
        ),
        linear_stages.check_columns,
    ),
    Step(
        "Distances from the normaliser",
        "A diagonal factor changes lengths by its largest entry at most. Of numbers on a line, the order pairs them "
        "at the least cost.",
        ("|diag(tbar) M| <= max |tbar_i| |M|", "W_2^2 = (1/d) sum (sigma_k(M) - sigma_k(T Pi))^2"),
        (
            r"\lVert \operatorname{diag}(\bar t) M \rVert &\le \max_i \lvert \bar t_i \rvert\, \lVert M \rVert",
            r"W_2^2 &= \frac1d \sum_k (\sigma_k(M) - \sigma_k(T \Pi))^2",
        ),
        linear_stages.check_distances,
    ),
)

DERIVATION = Derivation(
    name="linearization",
    title="Softmax attention beside its linear part, and what the normaliser changes",
    source="Hayase, Collins, Karakida, Gaussian Equivalence for Self-Attention, 2026 (arXiv 2510.06685): the stages",
    steps=_STEPS,
)
