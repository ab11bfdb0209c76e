"""Claim `proposition-3-1`: the distance of attention over a prompt from attention over its law, for every length.

Boursier and Boyer 2026, proposition 3.1: for centred sub-Gaussian laws mu of tokens and nu of queries there
are constants c1, c2 with E |T[mu_L] - T[mu]|^2 in L2(nu) <= c1 sigma^6 ln L / L^(c2/sigma^2). A certificate asserts
one of

    published    that this display fails, or holds, at a stated instance
    repaired     that it holds for every L >= 2 with stated c1, c2 and sigma >= 1: for stated laws, or for every law of
                 a class
"""

from __future__ import annotations

from certattn.kernel.theorems.prompts.proposition_forms import proposition

THEOREM = proposition(
    "proposition-3-1",
    "the distance of attention over a prompt from attention over its law, for every length",
)
