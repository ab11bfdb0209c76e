"""How certificates state what reads the attended token: a linear head, one with an activation, or a quadratic one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.document.fields import Field, Rational, Record, Values
from certattn.kernel.document.forms import Variant
from certattn.kernel.document.matrices import Matrix
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.losses import Loss
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.mathematics.activations import Activation, Identity, LeakyRelu, Softplus, Tanh
from certattn.kernel.theorems.selection.mathematics.mixing import Mixing, QuadraticMixing, ScoreMixing
from certattn.kernel.theorems.selection.selection_inputs import VALUE_DIRECTION, StatedTokens, read_labels

NEGATIVE_SLOPE = Field("slope", Rational(above=0), "its slope below 0, > 0 and at most 1")
QUADRATIC = Field("A", Matrix(), "the symmetric matrix of x'Ax + v'x")
HEAD = Field(
    "head",
    Variant(
        "kind",
        {
            "linear": Record(),
            "tanh": Record(),
            "softplus": Record(),
            "leaky-relu": Record(NEGATIVE_SLOPE),
            "quadratic": Record(QUADRATIC),
        },
    ),
    "the prediction head; linear if left out",
    required=False,
)

_PLAIN: Mapping[str, Activation] = {"linear": Identity(), "tanh": Tanh(), "softplus": Softplus()}


@dataclass(frozen=True)
class StatedHead:
    """`mixing(selection, loss, i)` is what mixing costs in input i, which has more than one token."""

    words: str
    mixing: Callable[[Selection, Loss, int], Mixing]


def read_head(given: Values, stated: StatedTokens) -> StatedHead:
    """The head, linear where none is stated. Raises MalformedError."""
    kind, values = given.get(HEAD) or ("linear", None)
    labels = read_labels(given, stated.tokens.count) if VALUE_DIRECTION in given else [fmpq(1)] * stated.tokens.count
    if kind == "quadratic":
        assert values is not None
        return _quadratic(given, values, stated, labels)
    if kind == "leaky-relu":
        assert values is not None
        slope = values[NEGATIVE_SLOPE]
        if slope > 1:
            raise values.node(NEGATIVE_SLOPE).malformed("a number > 0 and at most 1")
        return _by_score(LeakyRelu(slope), f"psi(x) = phi(v'x), phi(r) = max(r, {describe(slope)} r)", labels)
    words = {
        "linear": "psi linear, Y psi(x) the score",
        "tanh": "psi(x) = tanh(v'x)",
        "softplus": "psi(x) = log(1 + e^(v'x))",
    }
    return _by_score(_PLAIN[kind], words[kind], labels)


def _by_score(activation: Activation, words: str, labels: list[fmpq]) -> StatedHead:
    def mixing(selection: Selection, loss: Loss, i: int) -> Mixing:
        score = selection.tokens.scores_of(i)[selection.indices[i]]
        gaps = tuple(gap for pair, gap in zip(selection.pairs, selection.gaps, strict=True) if pair.input == i)
        return ScoreMixing(loss, activation, labels[i], score, gaps)

    return StatedHead(words, mixing)


def _quadratic(given: Values, values: Values, stated: StatedTokens, labels: list[fmpq]) -> StatedHead:
    size = stated.rows.columns
    values[QUADRATIC].require_shape(size, size, "for tokens of that dimension")
    matrix: ExactMatrix = values[QUADRATIC].load()
    if matrix.is_symmetric() is not True:
        raise values.node(QUADRATIC).malformed("a symmetric matrix", "one that is not")
    direction = given[VALUE_DIRECTION].load()

    def mixing(selection: Selection, loss: Loss, i: int) -> Mixing:
        tokens, chosen = selection.tokens, selection.indices[i]
        others = [tokens.row(i, t) for t in range(tokens.lengths[i]) if t != chosen]
        return QuadraticMixing.of(
            loss,
            labels[i],
            stated.rows.take_rows([tokens.row(i, chosen)]),
            stated.rows.take_rows(others),
            matrix,
            direction,
        )

    return StatedHead(f"psi(x) = x'Ax + v'x with A = {values[QUADRATIC].words()}", mixing)
