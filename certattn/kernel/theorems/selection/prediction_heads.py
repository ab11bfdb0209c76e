"""How certificates state what reads the attended token: a linear head, one with an activation, or a quadratic one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flint import fmpq

from certattn.kernel.document.matrices import Matrix
from certattn.kernel.document.schema import Field, Rational, Record, Values, Variant
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.losses import Loss
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.mathematics.activations import Activation, Identity, LeakyRelu, Softplus, Tanh
from certattn.kernel.theorems.selection.mathematics.mixing import Mixing, QuadraticMixing, ScoreMixing
from certattn.kernel.theorems.selection.stated_tokens import VALUE_DIRECTION, StatedTokens, read_labels

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


# What mixing costs in input i, which has more than one token.
Mixer = Callable[[Selection, Loss, int], Mixing]


def read_head(given: Values, stated: StatedTokens) -> Mixer:
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
        return _by_score(LeakyRelu(slope), labels)
    return _by_score(_PLAIN[kind], labels)


def _by_score(activation: Activation, labels: list[fmpq]) -> Mixer:
    def mixing(selection: Selection, loss: Loss, i: int) -> Mixing:
        score = selection.tokens.scores_of(i)[selection.indices[i]]
        gaps = tuple(gap for pair, gap in zip(selection.pairs, selection.gaps, strict=True) if pair.input == i)
        return ScoreMixing(loss, activation, labels[i], score, gaps)

    return mixing


def _quadratic(given: Values, values: Values, stated: StatedTokens, labels: list[fmpq]) -> Mixer:
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

    return mixing
