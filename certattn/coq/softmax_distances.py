"""Distances between softmax attention and what it is compared with: `softmax-mean`, `output-deviation`,
`infinite-prompt-operator`.

The theorem is about all listed queries at once: of the distances of attention at each and of stated vectors, an affine
map, the prompt's own moments, or attention over a law with finitely many atoms. Coq encloses one exponential for each
query and token. Its precision follows from the slack that the certificate leaves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from flint import arb, fmpq, fmpz_mat

from certattn.coq.instance import COMPUTED, Conjunct, Cost, Instance, NotExportableError, bits_above, cost_of, slack_of
from certattn.coq.terms import Constant, Factor, Number, Row, Table, natural, positive
from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.decide.obligation import NoProof, Obligation
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.given.attention import Weights
from certattn.kernel.given.prompts import StatedPrompt
from certattn.kernel.mathematics.balls import scale_ball, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Atoms
from certattn.kernel.mathematics.operator import AffineMap, Operator
from certattn.kernel.mathematics.reals import Real
from certattn.kernel.mathematics.softmax_moments import COVARIANCES
from certattn.kernel.theorems.attention.output_deviation import (
    AT_LEAST,
    AT_MOST,
    EACH_AT_LEAST,
    EACH_AT_MOST,
    EACH_RELATIVE,
    NORM,
    RELATIVE,
    AssertedDeviation,
)
from certattn.kernel.theorems.attention.softmax_mean import (
    COVARIANCE,
    COVARIANCE_VALUE,
    EIGENVALUES,
    LOG_NORMALISER,
    MEAN,
    AssertedMoments,
)
from certattn.kernel.theorems.prompts import infinite_prompt_operator
from certattn.kernel.theorems.prompts.infinite_prompt_operator import (
    OPERATOR,
    PUSHFORWARD,
    QUERY,
    RADIUS,
    VALUE,
    VALUES,
)

# Bits at which slacks are measured, and the precision of Coq's intervals.
_SLACK_BITS = 256
_LEAST_PRECISION, _MOST_PRECISION, _PRECISION_STEP = 30, 1000, 5
_SPARE_BITS, _SUM_BITS = 8, 4

# Measured on one core of a server: see docs/coq.md.
_SECONDS_EXPONENTIAL, _SECONDS_PRODUCT = 2.2e-3, 0.1e-3
_PRECISION_MEASURED, _FAST = 40, 2

AFFINE_SAYS = (
    "attention over the prompt beside an affine map with the numbers of the theorem. That attention over the stated "
    "law is this map is the theorem of the page docs/claims/prompts/infinite-prompt-operator.md, which is not proved "
    "in Coq"
)


@dataclass(frozen=True)
class _Bits:
    """Precisions of Coq's intervals: of exponentials, and of the sums of so many of them."""

    exponentials: int
    sums: int

    @property
    def exponentials_term(self) -> str:
        return f"(S.precision {positive(self.exponentials)})"

    @property
    def sums_term(self) -> str:
        return f"(S.precision {positive(self.sums)})"


@dataclass(frozen=True)
class _Points:
    """Points as the theorem writes them, and as the check computes with them: integers, and their denominator."""

    term: str
    denominator: str
    integers: str

    @property
    def arguments(self) -> str:
        return f"{self.denominator} {self.integers}"


@dataclass
class _Builder:
    """Constants as they are met, with their shapes."""

    constants: list[Constant] = field(default_factory=list)
    shapes: list[Conjunct] = field(default_factory=list)

    def table(self, name: str, matrix: ExactMatrix) -> _Points:
        """A matrix as a constant."""
        found = Table(name, matrix)
        self.constants.append(found)
        shape = f"{natural(matrix.rows)} {natural(matrix.columns)}"
        self.shapes.append(Conjunct(f"shaped {shape} {found.term}", f"apply shaped_mat. {COMPUTED}"))
        return _Points(found.term, f"{name}_den", name)

    def row(self, name: str, entries: Sequence[fmpq]) -> Row:
        """A vector as a constant."""
        found = Row.of(name, entries)
        self.constants.append(found)
        statement = f"length {found.term} = {natural(len(entries))}"
        self.shapes.append(
            Conjunct(statement, "rewrite length_vec. vm_cast_no_check (eq_refl " + natural(len(entries)) + ").")
        )
        return found

    def factor(self, name: str, value: Real) -> str:
        """A factor of scores as a constant; the term for it."""
        found = Factor.of(name, value)
        self.constants.append(found)
        return found.term

    def number(self, name: str, value: fmpq) -> Number:
        found = Number(name, value)
        self.constants.append(found)
        return found

    def mapped(self, matrix: _Points | None, points: _Points) -> _Points:
        """M x for every row x; the same points for the identity."""
        if matrix is None:
            return points
        return _Points(
            f"(map (image {matrix.term}) {points.term})",
            f"({matrix.denominator} * {points.denominator})",
            f"(map (imageZ {matrix.integers}) {points.integers})",
        )


@dataclass(frozen=True)
class _Maps:
    """The weights K, Q (or U) and V of tokens as constants; None for identities."""

    K: _Points | None
    Q: _Points | None
    V: _Points | None

    @classmethod
    def of(cls, builder: _Builder, weights: Weights | None) -> _Maps:
        def constant(name: str, stated: MatrixInput | None) -> _Points | None:
            return None if stated is None else builder.table(name, stated.load())

        if weights is None:
            return cls(None, None, None)
        if weights.U is not None:
            return cls(None, constant("U_map", weights.U), constant("V_map", weights.V))
        return cls(constant("K_map", weights.K), constant("Q_map", weights.Q), constant("V_map", weights.V))


@dataclass(frozen=True)
class _Side:
    """A list of vectors, one for each query: the term, the check's enclosures, and the proof that they enclose it."""

    term: str
    enclosures: str
    proof: str


def _side(term: str, name: str, arguments: str, *, conditions: bool = True) -> _Side:
    proof = f"S.{name}_correct {arguments}" + (" _" if conditions else "")
    return _Side(term, f"S.{name} {arguments}", f"({proof})")


@dataclass(frozen=True)
class _Attention:
    """Keys, values and queries as constants, with the factor of scores."""

    builder: _Builder
    precision: str
    exponentials: str
    scale: str
    keys: _Points
    values: _Points
    queries: _Points
    stated_queries: _Points
    maps: _Maps

    @classmethod
    def of_prompt(cls, builder: _Builder, prompt: StatedPrompt, bits: _Bits) -> _Attention:
        scale = builder.factor("scale", prompt.scale)
        first, values = prompt.inputs
        maps = _Maps.of(builder, prompt.weights)
        if values is not None:
            keys_points, values_points = builder.table("keys", first.load()), builder.table("values", values.load())
        else:
            tokens = builder.table("tokens", first.load())
            keys_points, values_points = builder.mapped(maps.K, tokens), builder.mapped(maps.V, tokens)
        stated = builder.table("queries", prompt.stated_queries)
        queries = builder.mapped(maps.Q, stated)
        return cls(
            builder, bits.sums_term, bits.exponentials_term, scale, keys_points, values_points, queries, stated, maps
        )

    def output(self) -> _Side:
        """Attention at each query."""
        return self._at_queries("attention", "prompt_rows", self.keys, self.values)

    def empirical(self) -> _Side:
        """The limit by the prompt's own moments."""
        return self._at_queries("empirical_limit", "empirical_rows", self.keys, self.values, weighed=False)

    def log_normaliser(self) -> _Side:
        return self._at_queries("log_normaliser", "log_rows", self.keys)

    def covariance(self, of: str) -> _Side:
        sides = {"values": self.values, "keys": self.keys}
        return self._at_queries("covariances", "covariance_rows", self.keys, *(sides[side] for side in COVARIANCES[of]))

    def law(self, weights: Row, keys: _Points, values: _Points) -> _Side:
        """Attention over a law with finitely many atoms."""
        return self._at_queries("attention_over", "law_rows", weights, keys, values)

    def _at_queries(self, function: str, rows: str, *of: _Points | Row, weighed: bool = True) -> _Side:
        """A function of the scale and of these at each query; with the weights of tokens it needs exponentials."""
        terms, arguments = " ".join(each.term for each in of), " ".join(each.arguments for each in of)
        precision = f"{self.precision} {self.exponentials}" if weighed else self.precision
        return _side(
            f"(map ({function} {self.scale} {terms}) {self.queries.term})",
            rows,
            f"{precision} {self.scale} {arguments} {self.queries.arguments}",
        )

    def stated(self, name: str, rows: ExactMatrix) -> _Side:
        """Stated vectors, one for each query."""
        table = self.builder.table(name, rows)
        return _side(table.term, "stated_rows", f"{self.precision} {table.arguments}", conditions=False)

    def affine(self, limit: AffineMap) -> _Side:
        """An affine map of the stated queries."""
        scale = self.builder.factor("limit_scale", limit.scale)
        matrix, offset = (
            self.builder.table("limit_matrix", limit.matrix),
            self.builder.row("limit_offset", limit.offset.row(0)),
        )
        return _side(
            f"(map (affine_map {scale} {matrix.term} {offset.term}) {self.stated_queries.term})",
            "affine_rows",
            f"{self.precision} {scale} {matrix.arguments} {offset.arguments} {self.stated_queries.arguments}",
            conditions=False,
        )


@dataclass(frozen=True)
class _Comparison:
    """Distances between two lists of vectors, and what is asserted of them."""

    norm: str
    left: _Side
    right: _Side
    bounds: str
    # Sums over tokens at each query, where they are not one for each output.
    sums: int | None = None

    def conjunct(self, precision: str) -> Conjunct:
        check = f"S.check_sound {precision} {self.norm} {self.bounds} _ _ _ _ {self.left.proof} {self.right.proof} _"
        return Conjunct(
            f"distances {self.norm}\n    {self.left.term}\n    {self.right.term}\n    {self.bounds}",
            f"rewrite ?images_mat. refine ({check}); {COMPUTED}",
        )


# -- the claims


def softmax_mean_instance(certificate: Certificate, *, fast: bool) -> Instance:
    """The whole statement, but for eigenvalues. Raises NotExportableError."""
    theorem = CLAIMS["softmax-mean"]
    problem: AssertedMoments = theorem.read(certificate)
    if EIGENVALUES in problem.asserts:
        raise NotExportableError(
            "eigenvalues of covariances have no form in Coq here; a certificate without `eigenvalues` can be exported"
        )
    prompt = problem.prompt
    stated_rows = _stated_rows(problem)
    targets = [_largest(rows) for rows in stated_rows.values()]
    shape = _Size.of_prompt(prompt, targets, squared=COVARIANCE in problem.asserts)
    bits = _precision(theorem.obligations(problem), shape)
    builder = _Builder()
    attention = _Attention.of_prompt(builder, prompt, bits)
    comparisons = []
    sides = {
        MEAN.name: attention.output,
        COVARIANCE.name: lambda: attention.covariance(problem.whose(COVARIANCE)),
        LOG_NORMALISER.name: attention.log_normaliser,
    }
    for name, compared in problem.compared.items():
        rows = stated_rows[name]
        left, right = sides[name](), attention.stated(f"{name}_value", rows)
        radii = builder.row(f"{name}_radius", [compared.bound.at(i) for i in range(prompt.count)])
        sums = 3 * rows.columns if name == COVARIANCE.name else None
        comparisons.append(_Comparison("linf", left, right, f"[at_most_each {radii.arguments}]", sums))
    return _instance(builder, comparisons, shape, bits, fast=fast)


def output_deviation_instance(certificate: Certificate, *, fast: bool) -> Instance:
    """The whole statement about listed queries, beside a law where it has atoms. Raises NotExportableError."""
    theorem = CLAIMS["output-deviation"]
    problem = theorem.read(certificate)
    if problem.regions:
        raise NotExportableError(
            "a bound over a region of queries has no form in Coq here, only one at listed queries has"
        )
    if problem.causal is not None or RELATIVE in problem.bounds or problem.each(EACH_RELATIVE):
        raise NotExportableError("masks, and bounds in units of |T(q)|, have no form in Coq here; other bounds have")
    prompt, limit = problem.prompt, problem.limit
    law = limit.law if isinstance(limit, Operator) else None
    if law is not None and not isinstance(law, Atoms):
        raise NotExportableError(
            "this law has infinitely many tokens and attention over it is no affine map: it has no form in Coq here; "
            "laws of atoms have, and Gaussian ones up to the theorem that makes them affine"
        )
    shape = _Size.of_prompt(prompt, [fmpq(0)], law=law, squared=problem.limit_kind == "empirical")
    bits = _precision(theorem.obligations(problem), shape)
    builder = _Builder()
    attention = _Attention.of_prompt(builder, prompt, bits)
    says = AFFINE_SAYS if problem.limit_kind == "law" and isinstance(limit, AffineMap) else None
    if problem.limit_kind == "empirical":
        right = attention.empirical()
    elif isinstance(limit, AffineMap):
        right = attention.affine(limit)
    else:
        assert law is not None
        right = attention.law(*_atoms(builder, law, attention.maps, prompt))
    left, bounds = attention.output(), _bounds(builder, problem)
    comparison = _Comparison(problem.bounds[NORM], left, right, bounds)
    return _instance(builder, [comparison], shape, bits, says, fast=fast)


def infinite_prompt_operator_instance(certificate: Certificate, *, fast: bool) -> Instance:
    """The whole statement about values of a law with finitely many atoms. Raises NotExportableError."""
    theorem = infinite_prompt_operator.THEOREM
    stated_operator = theorem.read(certificate)
    given = stated_operator.given
    law = given.law.law
    asserts = stated_operator.asserts
    if OPERATOR in asserts or PUSHFORWARD in asserts or not isinstance(law, Atoms):
        raise NotExportableError(
            "only `values` of a law of atoms have a form in Coq here; affine maps and images of laws have none"
        )
    queries = ExactMatrix.stacked([item[QUERY].load() for item in asserts.items(VALUES)])
    values = ExactMatrix.stacked([item[VALUE].load() for item in asserts.items(VALUES)])
    truth = given.truth
    shape = _Size.of(ExactMatrix.rational(law.points), truth.V, queries @ truth.U.T, truth.scale, values)
    bits = _precision(theorem.obligations(stated_operator), shape)
    builder = _Builder()
    scale, maps = builder.factor("scale", truth.scale), _Maps.of(builder, given.weights)
    weights, keys, outputs = _atoms(builder, law, maps, None)
    stated = builder.table("queries", queries)
    attention = _Attention(
        builder,
        bits.sums_term,
        bits.exponentials_term,
        scale,
        keys,
        outputs,
        builder.mapped(maps.Q, stated),
        stated,
        maps,
    )
    right = attention.stated("values_stated", values)
    radii = builder.row("radius", [item[RADIUS] for item in asserts.items(VALUES)])
    comparison = _Comparison("linf", attention.law(weights, keys, outputs), right, f"[at_most_each {radii.arguments}]")
    return _instance(builder, [comparison], shape, bits, fast=fast)


# -- parts of them


def _atoms(
    builder: _Builder, law: Atoms[fmpq], maps: _Maps, prompt: StatedPrompt | None
) -> tuple[Row, _Points, _Points]:
    """Probabilities, keys and values of the atoms; of a prompt of keys and values, an atom is both side by side."""
    weights, points = builder.row("atom_weights", law.weights), ExactMatrix.rational(law.points)
    if prompt is not None and prompt.weights is None:
        split = prompt.inputs[0].shape[1]
        keys = builder.table("atom_keys", _columns(points, 0, split))
        return weights, keys, builder.table("atom_values", _columns(points, split, points.columns))
    atoms = builder.table("atoms", points)
    return weights, builder.mapped(maps.K, atoms), builder.mapped(maps.V, atoms)


def _columns(matrix: ExactMatrix, first: int, stop: int) -> ExactMatrix:
    rows = [entry for row in matrix.numerators.tolist() for entry in row[first:stop]]
    return ExactMatrix(fmpz_mat(matrix.rows, stop - first, rows), matrix.denominator)


def _bounds(builder: _Builder, problem: AssertedDeviation) -> str:
    """The assertions, as a list of `bound`."""
    bounds, parts = problem.bounds, []
    if AT_MOST in bounds:
        parts.append(f"at_most_each {builder.row('at_most', [bounds[AT_MOST]] * problem.count).arguments}")
    if AT_LEAST in bounds:
        parts.append(f"at_least_somewhere {builder.number('at_least', bounds[AT_LEAST]).arguments}")
    if each := problem.each(EACH_AT_MOST):
        parts.append(f"at_most_each {builder.row('each_at_most', each).arguments}")
    if each := problem.each(EACH_AT_LEAST):
        parts.append(f"at_least_each {builder.row('each_at_least', each).arguments}")
    return f"[{'; '.join(parts)}]"


def _stated_rows(problem: AssertedMoments) -> dict[str, ExactMatrix]:
    """What attention is compared with, a row for each query: means, entries of covariances, logarithms."""
    prompt, asserts, found = problem.prompt, problem.asserts, dict[str, ExactMatrix]()
    if MEAN in asserts:
        found[MEAN.name] = problem.means
    if COVARIANCE in asserts:
        sides = {"values": prompt.output_dimension, "keys": prompt.key_dimension}
        rows = sides[COVARIANCES[problem.whose(COVARIANCE)][0]]
        matrices = asserts[COVARIANCE][COVARIANCE_VALUE]
        found[COVARIANCE.name] = ExactMatrix.rational([matrices.entries(i, rows) for i in range(prompt.count)])
    if LOG_NORMALISER in asserts:
        found[LOG_NORMALISER.name] = ExactMatrix.rational([[value] for value in problem.logarithms])
    return found


# -- precision and cost


@dataclass(frozen=True)
class _Size:
    """What precision and cost depend on: numbers of queries, tokens and coordinates, and largest sizes."""

    queries: int
    tokens: int
    outputs: int
    value: fmpq
    score: arb

    @classmethod
    def of_prompt(
        cls, prompt: StatedPrompt, targets: Sequence[fmpq], law: Atoms[fmpq] | None = None, *, squared: bool = False
    ) -> _Size:
        exact, queries = prompt.exact, prompt.stated_queries @ prompt.query_map.T
        score = _largest_score(exact.keys, queries, exact.scale)
        value = max([_largest(exact.values), *targets, fmpq(1)])
        if squared:
            value = max(value, _largest(exact.keys)) ** 2
        tokens = exact.keys.rows
        if law is not None:
            points = ExactMatrix.rational(law.points)
            value, tokens = max(value, _largest(points) ** 2), tokens + points.rows
        return cls(queries.rows, tokens, exact.values.columns, value, score)

    @classmethod
    def of(cls, keys: ExactMatrix, V: ExactMatrix, queries: ExactMatrix, scale: Real, targets: ExactMatrix) -> _Size:
        """Of a law: `queries` are those that are multiplied with its points."""
        values = keys @ V.T
        value = max(_largest(values), _largest(targets), fmpq(1))
        return cls(queries.rows, keys.rows, values.columns, value, _largest_score(keys, queries, scale))


def _largest(matrix: ExactMatrix) -> fmpq:
    return fmpq(max(abs(entry) for entry in matrix.numerators.entries()), matrix.denominator)


def _largest_score(keys: ExactMatrix, queries: ExactMatrix, scale: Real) -> arb:
    with working_precision(64):
        return abs(scale_ball(scale)) * arb(_largest(queries @ keys.T))


def _precision(obligations: Iterable[Obligation | NoProof], size: _Size) -> _Bits:
    """Bits with which intervals decide what the certificate asserts. Raises NotExportableError where none do."""
    with working_precision(_SLACK_BITS):
        slack = slack_of(obligations, _SLACK_BITS)
        needed = bits_above(arb(size.value) * (1 + size.score) * arb(size.outputs).sqrt() / slack) + _SPARE_BITS
    bits = max(_LEAST_PRECISION, math.ceil(needed / _PRECISION_STEP) * _PRECISION_STEP)
    if bits > _MOST_PRECISION:
        raise NotExportableError(
            f"the slack is so small that Coq would need intervals of {bits} bits, at most {_MOST_PRECISION} are used: "
            "state the bound a little wider"
        )
    return _Bits(bits, bits + _SUM_BITS + size.tokens.bit_length())


def _instance(
    builder: _Builder,
    comparisons: Sequence[_Comparison],
    size: _Size,
    bits: _Bits,
    says: str | None = None,
    *,
    fast: bool,
) -> Instance:
    library = ["Digits", "Statements", "Integers", "SoftmaxFast" if fast else "SoftmaxExact"]
    conjuncts = [*builder.shapes, *(comparison.conjunct(bits.sums_term) for comparison in comparisons)]
    return Instance(
        library, builder.constants, conjuncts, _cost(builder, comparisons, size, bits.exponentials, fast), says, fast
    )


def _cost(builder: _Builder, comparisons: Sequence[_Comparison], size: _Size, bits: int, fast: bool) -> Cost:
    weights, slower = size.queries * size.tokens, (bits / _PRECISION_MEASURED) ** 1.5
    sums = sum(size.outputs if each.sums is None else each.sums for each in comparisons)
    work = weights * slower * (len(comparisons) * _SECONDS_EXPONENTIAL + sums * _SECONDS_PRODUCT)
    work /= _FAST if fast else 1
    return cost_of(builder.constants, work)
