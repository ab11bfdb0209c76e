"""Derivation of what the claim `typical-prompt` puts together: a prompt and random prompts under the same scores.

The bounds themselves are those of `output-deviation` and `output-tail`, with derivations of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.operators import UnspecifiedLaw, entries, outputs, softmax
from certattn.theory.symbolic_flint import SymbolicNumber, plain
from certattn.theory.symbols import matrix, positive_symbol

# Shapes of the weights: L tokens in R^d, keys in R^p, queries in R^q, outputs in R^o.
SHAPES = ((1, 1, 1, 1, 1), (2, 1, 1, 1, 1), (2, 2, 1, 2, 1), (2, 1, 2, 1, 2), (3, 2, 2, 1, 1))


def check_same_scores(kernel: Kernel) -> Iterator[Check]:
    """The prompt's softmax by definition, its limit, and the tilt and values of random prompts, for K, Q, V and s."""
    typical, s = kernel.typical_prompt, positive_symbol("s")
    for length, d, p, q, o in SHAPES:
        x, K, Q, V = matrix("x", length, d), matrix("K", p, d), matrix("Q", p, q), matrix("V", o, d)
        z, law = matrix("z", 1, q), UnspecifiedLaw(d)
        stated = {name: kernel.stated(table) for name, table in (("K", K), ("Q", Q), ("V", V))}
        weights = kernel.attention.Weights(d, **stated, U=None)
        tokens = kernel.stated(x), None
        prompt = kernel.prompts.StatedPrompt(tokens, kernel.stated(z), SymbolicNumber(s), weights)
        compared = typical.Compared(prompt, kernel.token_laws.StatedLaw("", None, law))
        what = f"{length} tokens, K {p} x {d}, Q {p} x {q}, {o} outputs"
        tilt = s * K.T * Q * z.T
        finite = softmax(x * K.T, x * V.T, z * Q.T, s)
        infinite = V * sympy.Matrix(law.tau(list(tilt)))
        found = plain(compared.difference())
        yield equal(f"T - T_inf, {what}", found, [a - b for a, b in zip(finite, list(infinite), strict=True)])
        random = compared.random()
        yield equal(f"the tilt of random prompts, {what}", plain(random.tilt()), list(tilt))
        yield equal(f"their values, {what}", entries(random.values()), V)
        yield Check(f"their length, {what}", random.length == length)
        limit = outputs(kernel, prompt.operator(law), z)
        yield equal(f"T_inf = V tau(tilt), {what}", limit, [list(infinite)])
