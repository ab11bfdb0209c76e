"""Derivation of the formulas of the claim `finite-moments`; the checks stand in `score_walks`."""

from __future__ import annotations

from certattn.theory.derivation import Derivation, Step
from certattn.theory.spectrum import score_walks

DERIVATION = Derivation(
    "finite-moments",
    "Expected moments of the matrix of exponential scores at finite size",
    "Hayase, Collins, Karakida, Gaussian Equivalence for Self-Attention, 2026 (arXiv 2510.06685): the limit of the law",
    (
        Step(
            "Means of products of exponential scores",
            "Given the queries, keys are integrated out coordinate by coordinate; what is left is the exponential of a "
            "quadratic form of Gaussian queries, the same in every coordinate.",
            (
                "e_ij = exp(βS_ij - β²|x_i|²/(2p)),   b = β²/p,   Q = NN' - diag(N1)",
                "E Π e_ij^N_ij = E exp((b/2) Σ_coordinates x'Qx) = det(I - bQ)^(-p/2)",
            ),
            (
                r"e_{ij} &= \exp(\beta S_{ij} - \beta^2 |x_i|^2 / (2p)), \qquad b = \beta^2 / p, "
                r"\qquad Q = N N^\top - \operatorname{diag}(N 1)",
                r"\mathbb E \prod_{ij} e_{ij}^{N_{ij}} &= \det(I - bQ)^{-p/2}",
            ),
            score_walks.check_products,
        ),
        Step(
            "Walks by set partitions",
            "The trace of a power is a sum over closed walks. Which indices agree is a pair of set partitions; the sum "
            "is compared with the trace multiplied out, for matrices of symbols.",
            ("d^(k+1) E m_2k(T) = Σ_(r,c) (d)_r (d)_c Σ coefficient · det(I - bQ)^(-p/2)",),
            (
                r"d^{k+1}\, \mathbb E\, m_{2k}(T) &= \sum_{\pi, \sigma} (d)_{|\pi|} (d)_{|\sigma|} "
                r"\sum_{N} c_N \det(I - bQ_N)^{-p/2}",
            ),
            score_walks.check_walks,
        ),
        Step(
            "The second and fourth moment in closed form",
            "With `f(u) = u^(-p/2)`. The variance of the second moment follows from the same means.",
            (
                "E m_2 = f(1-2b) - 1",
                "E m_4 = F/d + (d-1)/d (R + C) + (d-1)²/d S,   S = f(1-4b²) - 2f(1-b²) + 1",
                "F = f(1-12b) - 4f(1-6b) + 6f(1-2b) - 3,   R = f(1-4b) - 2f(1-2b) + 1",
                "C = f((1-6b)(1+2b)) - 4f(1-2b-4b²) + 4f(1-b²) + 2f(1-2b) - 3",
            ),
            (
                r"\mathbb E\, m_2 &= f(1-2b) - 1, \qquad f(u) = u^{-p/2}",
                r"\mathbb E\, m_4 &= \tfrac1d F + \tfrac{d-1}{d}(R + C) + \tfrac{(d-1)^2}{d} "
                r"\left( f(1-4b^2) - 2 f(1-b^2) + 1 \right)",
            ),
            score_walks.check_closed_forms,
        ),
        Step(
            "Two entries of one row or of one column",
            "The second moment is the mean of the squares of the entries; its variance is that of pairs of them.",
            ("Var m_2 = (F - (E m_2)²)/d² + (d-1)/d² (R + C - 2(E m_2)²)",),
            (
                r"\operatorname{Var} m_2 &= \frac{F - (\mathbb E m_2)^2}{d^2} "
                r"+ \frac{d-1}{d^2} \left( R + C - 2 (\mathbb E m_2)^2 \right)",
            ),
            score_walks.check_pairs,
        ),
        Step(
            "Limits of the expected moments",
            "For `p = lambda d` the sum is expanded in powers of `1/d`. Whatever grows cancels, and the constant term "
            "is the moment of the limit law, for `k = 1, 2, 3, 4`.",
            (
                "log det(I - bQ)^(-p/2) = 1/2 Σ_q tr(Q^q) x^q (λd)^(1-q) / q,   x = β²",
                "lim E m_2k(T) = m_2k = 1/(2k+1) [w^2k] (1 + C(w))^(2k+1),   C(w) = α²w² + β²w²/(1 - β²w²/λ)",
            ),
            (
                r"\log\det(I - bQ)^{-p/2} &= \tfrac12 \sum_q \operatorname{tr}(Q^q)\, x^q (\lambda d)^{1-q} / q",
                r"\lim_d \mathbb E\, m_{2k}(T) &= m_{2k} = \tfrac{1}{2k+1} [w^{2k}] (1 + C(w))^{2k+1}",
            ),
            score_walks.check_limits,
        ),
        Step(
            "The part of single entries",
            "A moment is at least the sum of the powers of the entries. Where `beta` is large that part is the moment, "
            "and it leaves the limit behind as soon as `beta^2` exceeds `log(d)/(2k)`.",
            (
                "E m_2k(T) ≥ d^(1-k) E t^2k,   E e^2k → exp(k(2k-1)β²)",
                "d^(1-k) exp(k(2k-1)β²) / (Cat_k exp(kβ²)) = (exp(2kβ²)/d)^(k-1) / Cat_k",
            ),
            (
                r"\mathbb E\, m_{2k}(T) &\ge d^{1-k}\, \mathbb E\, t^{2k}",
                r"\frac{d^{1-k} e^{k(2k-1)\beta^2}}{\mathrm{Cat}_k e^{k\beta^2}} &= "
                r"\frac{1}{\mathrm{Cat}_k} \left( \frac{e^{2k\beta^2}}{d} \right)^{k-1}",
            ),
            score_walks.check_entries,
        ),
    ),
)
