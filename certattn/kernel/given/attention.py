"""What several claims are given: a law of tokens, the attention weights K, Q, V, the scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.document.matrices import Matrix, MatrixInput, Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import (
    Field,
    Kind,
    Listing,
    Rational,
    Reading,
    Record,
    Scale,
    Values,
    Variant,
)
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Atoms, Box, Gaussian, Law, Mixture, Rademacher
from certattn.kernel.mathematics.reals import Real, describe

# -- laws

MEAN = Field("mean", Vector(), "mean of the Gaussian")
COVARIANCE = Field(
    "covariance", Matrix(), "covariance of the Gaussian: symmetric, positive semidefinite, may be singular"
)
SIZES = Field("sizes", Vector(), "the sizes c_j >= 0, one per coordinate")
POINTS = Field("points", Matrix(), "the atoms, one per row")
WEIGHTS = Field(
    "weights", Listing(Rational(above=0)), "probabilities of the atoms; equal ones if left out", required=False
)
COMPONENT_WEIGHT = Field("weight", Rational(above=0), "probability of the component")

GAUSSIAN = Record(MEAN, COVARIANCE)


@dataclass(frozen=True)
class StatedLaw:
    """A law with exact parameters, where it stands, and `worded`: its description for what is drawn from it.

    Numbers in an array file are named by the file, which may be called anything: no text is replaced afterwards.
    """

    node: Node
    law: Law
    worded: Callable[[str], str]

    @property
    def words(self) -> str:
        """The description, for tokens."""
        return self.worded("tokens")

    @property
    def dimension(self) -> int:
        return self.law.dimension


class LawKind(Kind[StatedLaw]):
    """A law of tokens; a mixture's components are laws again."""

    def read(self, node: Node, reading: Reading) -> StatedLaw:
        kind, values = LAW_FORMS.read(node, reading)
        return _BUILD[kind](node, values)


LAW = LawKind()
COMPONENT_LAW = Field("law", LAW, "law of the component")
COMPONENTS = Field("components", Listing(Record(COMPONENT_WEIGHT, COMPONENT_LAW)), "the components of the mixture")

LAW_FORMS = Variant(
    "kind",
    {
        "gaussian": GAUSSIAN,
        "rademacher": Record(SIZES),
        "box": Record(SIZES),
        "atoms": Record(POINTS, WEIGHTS),
        "mixture": Record(COMPONENTS),
    },
)


def read_gaussian(values: Values) -> Gaussian:
    """N(mean, covariance); the covariance proved positive semidefinite exactly."""
    mean, stated = values[MEAN], values[COVARIANCE]
    stated.require_shape(mean.shape[1], mean.shape[1], "for that mean")
    covariance = stated.load()
    if covariance.is_symmetric() is not True:
        raise stated.node.malformed("a symmetric covariance", "a matrix that is not symmetric")
    if covariance.is_positive_semidefinite() is not True:
        raise stated.node.malformed("a positive semidefinite covariance", "a matrix with a negative eigenvalue")
    return Gaussian(mean.load().row(0), covariance.to_rows())


def gaussian_words(values: Values) -> str:
    """The parameters of N(mean, covariance)."""
    return f"mean {values[MEAN].words()} and covariance {values[COVARIANCE].words()}"


def _gaussian(node: Node, values: Values) -> StatedLaw:
    parameters = gaussian_words(values)
    return StatedLaw(node, read_gaussian(values), lambda what: f"Gaussian {what} of {parameters}")


def _sizes(values: Values) -> list[fmpq]:
    sizes = values[SIZES].load().row(0)
    for index, size in enumerate(sizes):
        if (size >= 0) is not True:
            raise values.node(SIZES).malformed("sizes >= 0", f"{describe(size)} at index {index}")
    return sizes


def _rademacher(node: Node, values: Values) -> StatedLaw:
    sizes = values[SIZES].words()
    law = Rademacher(_sizes(values))
    return StatedLaw(node, law, lambda what: f"{what} of independent signs (Rademacher) of sizes {sizes}")


def _box(node: Node, values: Values) -> StatedLaw:
    half_widths = values[SIZES].words()
    law = Box(_sizes(values))
    return StatedLaw(node, law, lambda what: f"{what} uniform on the box of half-widths {half_widths}")


def _atoms(node: Node, values: Values) -> StatedLaw:
    points = values[POINTS].load()
    weights = values.get(WEIGHTS) or [fmpq(1, points.rows)] * points.rows
    if len(weights) != points.rows:
        raise values.node(WEIGHTS).malformed(f"{points.rows} weights, one per atom")
    _require_total(weights, node)
    law = Atoms(points.to_rows(), weights)
    atoms = f"{counted(points.rows, 'atom')} {values[POINTS].words()}"
    shares = ExactMatrix.row_vector(weights)
    return StatedLaw(node, law, lambda what: f"{what} drawn from {atoms} of weights {shares}")


def _mixture(node: Node, values: Values) -> StatedLaw:
    components = values[COMPONENTS]
    laws = [component[COMPONENT_LAW] for component in components]
    for law in laws:
        if law.dimension != laws[0].dimension:
            raise law.node.malformed(f"dimension {laws[0].dimension}, like the first component", f"{law.dimension}")
    weights = [component[COMPONENT_WEIGHT] for component in components]
    _require_total(weights, node)
    mixed = Mixture([law.law for law in laws], weights)

    def worded(what: str) -> str:
        parts = (f"{law.worded(what)} with probability {describe(w)}" for law, w in zip(laws, weights, strict=True))
        return f"{what} from a mixture ({'; '.join(parts)})"

    return StatedLaw(node, mixed, worded)


def _require_total(weights: list[fmpq], node: Node) -> None:
    total = sum(weights, fmpq(0))
    if total != 1:
        raise node.malformed("weights that sum to exactly 1", f"a sum of {describe(total)}")


_BUILD = {"gaussian": _gaussian, "rademacher": _rademacher, "box": _box, "atoms": _atoms, "mixture": _mixture}

# -- weights and scale

SCALE = Field("scale", Scale(), "factor of the scores, such as 1/sqrt(32); 1 if left out", required=False)
KEY_WEIGHTS = Field("K", Matrix(), "key matrix; the identity if left out", required=False)
QUERY_WEIGHTS = Field("Q", Matrix(), "query matrix; the identity if left out", required=False)
VALUE_WEIGHTS = Field("V", Matrix(), "value matrix; the identity if left out", required=False)
BILINEAR = Field("U", Matrix(), "U = K'Q: scores are <x, U z>")


def read_scale(values: Values) -> Real:
    return values[SCALE] if SCALE in values else fmpq(1)


@dataclass(frozen=True)
class Weights:
    """K, Q and V (or U and V) for tokens of dimension d; None stands for the identity."""

    dimension: int
    K: MatrixInput | None
    Q: MatrixInput | None
    V: MatrixInput | None
    U: MatrixInput | None

    @property
    def query_dimension(self) -> int:
        """The dimension of the queries z."""
        if self.U is not None:
            return self.U.shape[1]
        if self.Q is not None:
            return self.Q.shape[1]
        return self.key_dimension

    @property
    def key_dimension(self) -> int:
        return self.K.shape[0] if self.K is not None else self.dimension

    @property
    def output_dimension(self) -> int:
        return self.V.shape[0] if self.V is not None else self.dimension

    def bilinear(self) -> ExactMatrix:
        """U = K'Q, d x d_z."""
        if self.U is not None:
            return self.U.load()
        return _or_identity(self.K, self.dimension).T @ _or_identity(self.Q, self.key_dimension)

    def values(self) -> ExactMatrix:
        """V, d_v x d."""
        return _or_identity(self.V, self.dimension)

    def words(self) -> str:
        named = {"U": self.U, "V": self.V} if self.U is not None else {"K": self.K, "Q": self.Q, "V": self.V}
        shown = [f"{name} = {'I' if m is None else m.words()}" for name, m in named.items()]
        return ", ".join(shown)

    def score_words(self) -> str:
        """What of them enters the scores."""
        if self.U is not None:
            return f"U = {self.U.words()}"
        named = {"K": self.K, "Q": self.Q}
        shown = [f"{name} = {'I' if matrix is None else matrix.words()}" for name, matrix in named.items()]
        return f"U = K'Q, {', '.join(shown)}"


def _or_identity(matrix: MatrixInput | None, size: int) -> ExactMatrix:
    return matrix.load() if matrix is not None else ExactMatrix.identity(size)


def read_weights(values: Values, dimension: int) -> Weights:
    """K, Q, V or U, V for tokens of that dimension, shapes checked against each other."""
    K, Q, V = values.get(KEY_WEIGHTS), values.get(QUERY_WEIGHTS), values.get(VALUE_WEIGHTS)
    U = values.get(BILINEAR)
    weights = Weights(dimension, K, Q, V, U)
    if U is not None:
        U.require_shape(dimension, None, "for tokens of that dimension")
    if K is not None:
        K.require_shape(None, dimension, "for tokens of that dimension")
    if Q is not None:
        Q.require_shape(weights.key_dimension, None, "so that K'Q is defined")
    if V is not None:
        V.require_shape(None, dimension, "for tokens of that dimension")
    return weights
