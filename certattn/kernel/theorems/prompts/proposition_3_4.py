"""Claim `proposition-3-4`: the distance between the gradients of attention over a prompt and over its law.

Boursier and Boyer 2026, proposition 3.4, for the gradients of attention T with respect to V and to U = K'Q. A
certificate names the gradient and asserts one of

    published    that the published display fails, or holds, at a stated instance
    repaired     that it holds for every L >= 2 with stated c1, c2 and sigma >= 1: for stated laws, or for every law of
                 a class

The gradients are linear maps of a matrix H: dT/dV[H] = H tau and dT/dU[H] = s V C H z. The difference of the first is
measured in the operator norm, |tau_hat - tau|, that of the second in the Hilbert-Schmidt norm, s |V(C_hat - C)|_F |z|.
"""

from __future__ import annotations

from certattn.kernel.theorems.prompts.proposition_forms import proposition
from certattn.kernel.theorems.prompts.propositions import GRADIENT

THEOREM = proposition(
    "proposition-3-4",
    "the distance between the gradients of attention over a prompt and over its law, for every length",
    GRADIENT,
)
