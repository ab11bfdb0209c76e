"""What is given of laws, weights, prompts and queries, in words."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Values
from certattn.kernel.given.attention import Weights
from certattn.kernel.given.each_query import StatedBounds
from certattn.kernel.given.prompts import StatedPrompt
from certattn.kernel.given.token_laws import (
    CENTRE,
    COMPONENT_LAW,
    COMPONENT_WEIGHT,
    COMPONENTS,
    COVARIANCE,
    DIMENSION,
    LOWER,
    MEAN,
    POINTS,
    RADIUS,
    SIZES,
    UPPER,
    VARIANCES,
    WEIGHTS,
    StatedLaw,
)
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real, describe
from certattn.statements.wording import cut

# Of many matrices so many are written out.
_SHOWN = 4


def law_words(law: StatedLaw, what: str = "tokens") -> str:
    """A law, as what is drawn from it.

    Numbers in an array file are named by the file, which may be called anything: no text is replaced afterwards.
    """
    values = law.values
    if law.kind == "gaussian":
        return f"Gaussian {what} of {gaussian_words(values)}"
    if law.kind == "rademacher":
        return f"{what} of independent signs (Rademacher) of sizes {values[SIZES].words()}{_about(values)}"
    if law.kind == "box":
        return f"{what} uniform on the box of half-widths {values[SIZES].words()}{_about(values)}"
    if law.kind in ("sphere", "ball"):
        radius = describe(values[RADIUS])
        return f"{what} uniform on the {law.kind} of radius {radius} in R^{values[DIMENSION]}{_about(values)}"
    if law.kind == "truncated-gaussian":
        drawn = f"mean {values[MEAN].words()} and variances {values[VARIANCES].words()}"
        ends = f"{values[LOWER].words()} and {values[UPPER].words()}"
        return f"{what} of independent Gaussian coordinates of {drawn}, each conditioned to lie between those of {ends}"
    if law.kind == "atoms":
        points = values[POINTS]
        stated = values.get(WEIGHTS)
        shares = ExactMatrix.row_vector(stated if stated is not None else [fmpq(1, points.shape[0])] * points.shape[0])
        return f"{what} drawn from {counted(points.shape[0], 'atom')} {points.words()} of weights {shares}"
    parts = (
        f"{law_words(component[COMPONENT_LAW], what)} with probability {describe(component[COMPONENT_WEIGHT])}"
        for component in values[COMPONENTS]
    )
    return f"{what} from a mixture ({'; '.join(parts)})"


def _about(values: Values) -> str:
    """The centre, where there is one."""
    return f" about {values[CENTRE].words()}" if CENTRE in values else ""


def gaussian_words(values: Values) -> str:
    """The parameters of N(mean, covariance)."""
    return f"mean {values[MEAN].words()} and covariance {values[COVARIANCE].words()}"


def weights_words(weights: Weights) -> str:
    """All of them that are stated, and I for those that are not."""
    value = "I" if weights.V is None else weights.V.words()
    return f"{_score_matrices(weights)}, V = {value}"


def score_matrix_words(weights: Weights) -> str:
    """What of them enters the scores."""
    matrices = _score_matrices(weights)
    return matrices if weights.U is not None else f"U = K'Q, {matrices}"


def _score_matrices(weights: Weights) -> str:
    if weights.U is not None:
        return f"U = {weights.U.words()}"
    named = {"K": weights.K, "Q": weights.Q}
    return ", ".join(f"{name} = {'I' if matrix is None else matrix.words()}" for name, matrix in named.items())


def prompt_words(prompt: StatedPrompt) -> str:
    """Tokens, weights, scale and queries of a prompt."""
    first, values = prompt.inputs
    if values is not None:
        inputs = f"keys: {first.words()}, values: {values.words()}"
    else:
        weights = f", {weights_words(prompt.weights)}" if prompt.weights is not None else ""
        inputs = f"{first.words()}{weights}"
    queries = f", queries: {prompt.queries.words()}" if prompt.queries is not None else ""
    return f"{counted(prompt.length, 'token')} ({inputs}, scale {describe(prompt.scale)}{queries})"


def score_words(prompt: StatedPrompt) -> str:
    """The score of a token at a query q, for the form in which the prompt is given."""
    if prompt.weights is None:
        return "scale * <q, key>"
    return "scale * <U q, token>" if prompt.weights.U is not None else "scale * <Q q, K token>"


def sight_words(prompt: StatedPrompt, causal: int | None) -> str:
    """What a sentence says of a mask after it has named the queries and the prompt."""
    return "" if causal is None else sight_of_queries(prompt.count, causal)


def sight_of_queries(count: int, first: int) -> str:
    """That the first of so many queries sees the first tokens alone, after a sentence has named these."""
    more = " and every further query one more" if count > 1 else ""
    return f", where the first query sees the first {counted(first, 'token') if first > 1 else 'token'}{more}"


def matrices_words(stated: Sequence[MatrixInput]) -> str:
    """The first few of the matrices, as they are stated."""
    return ", ".join(cut((part.words() for part in stated), _SHOWN))


def bounds_words(bounds: StatedBounds) -> str:
    """A number for every query, or one for each."""
    if bounds.common is not None:
        return describe(bounds.common)
    return f"the number stated for each query {in_brackets(str(bounds.vector))}"


def scaled(scale: Real, product: str, sign: str = " ") -> str:
    """A product with its factor, unless that is 1."""
    return product if scale == 1 else f"{describe(scale)}{sign}{product}"


def in_brackets(vector: str) -> str:
    """The words of a vector: (1, 2) as it is, "512 numbers" in brackets."""
    return vector if vector.startswith("(") else f"({vector})"
