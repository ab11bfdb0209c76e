"""Distances between softmax attention and what it is compared with: `softmax-mean`, `output-deviation`,
`infinite-prompt-operator`.

The theorem is about all listed queries at once: of the distances of attention at each and of stated vectors, an affine
map, the prompt's own moments, or attention over a law with finitely many atoms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flint import fmpq, fmpz_mat

from certattn.coq.instance import COMPUTED, Conjunct, Instance, NotExportableError, slack_of
from certattn.coq.softmax_terms import (
    SLACK_BITS,
    Bits,
    Builder,
    Points,
    Side,
    Size,
    distances,
    largest,
    largest_score,
    precision_for,
    softmax_instance,
)
from certattn.coq.spectra import bits_for_pivots
from certattn.coq.terms import Row
from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.decide.obligation import NoProof, Obligation
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.given.attention import Weights
from certattn.kernel.given.prompts import StatedPrompt, seen_tokens
from certattn.kernel.mathematics.balls import working_precision
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
    ENTROPY,
    LARGEST,
    LOG_NORMALISER,
    MEAN,
    SMALLEST,
    TOP,
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

AFFINE_SAYS = (
    "attention over the prompt beside an affine map with the numbers of the theorem. That attention over the stated "
    "law is this map is the theorem of the page docs/claims/prompts/infinite-prompt-operator.md, which is not proved "
    "in Coq"
)


# Bounds of eigenvalues, as Coq's library has them, with the names of their constants.
_ENDS = ((SMALLEST, "no_smaller", "eigenvalues_at_least"), (LARGEST, "no_larger", "eigenvalues_at_most"))


@dataclass(frozen=True)
class _Maps:
    """The weights K, Q (or U) and V of tokens as constants; None for identities."""

    K: Points | None
    Q: Points | None
    V: Points | None

    @classmethod
    def of(cls, builder: Builder, weights: Weights | None) -> _Maps:
        def constant(name: str, stated: MatrixInput | None) -> Points | None:
            return None if stated is None else builder.table(name, stated.load())

        if weights is None:
            return cls(None, None, None)
        if weights.U is not None:
            return cls(None, constant("U_map", weights.U), constant("V_map", weights.V))
        return cls(constant("K_map", weights.K), constant("Q_map", weights.Q), constant("V_map", weights.V))


def _side(term: str, name: str, arguments: str, *, conditions: bool = True) -> Side:
    return Side(term, f"(S.{name}_correct {arguments}{' _' if conditions else ''})")


@dataclass(frozen=True)
class _Attention:
    """Keys, values and queries as constants, with the factor of scores.

    `seen` are the constants with what each query sees of the tokens, None where all see all.
    """

    builder: Builder
    precision: str
    exponentials: str
    scale: str
    keys: Points
    values: Points
    queries: Points
    stated_queries: Points
    maps: _Maps
    seen: str | None = None

    @classmethod
    def of_prompt(
        cls, builder: Builder, prompt: StatedPrompt, bits: Bits, seen: Sequence[int] | None = None
    ) -> _Attention:
        """`seen`: how many of the first tokens each query sees, None where all see all."""
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
        sights = None if seen is None else builder.sight([0] * len(seen), seen, prompt.length)
        precisions = bits.sums_term, bits.exponentials_term
        return cls(builder, *precisions, scale, keys_points, values_points, queries, stated, maps, sights)

    def output(self) -> Side:
        """Attention at each query."""
        if self.seen is not None:
            return self._of_seen("attention", "enc_attention_seen", f"{self.precision} {self.exponentials}", self.seen)
        return self._at_queries("attention", "prompt_rows", self.keys, self.values)

    def empirical(self) -> Side:
        """The limit by the moments of what each query sees."""
        if self.seen is not None:
            return self._of_seen("empirical_limit", "enc_empirical_seen", self.precision, self.seen)
        return self._at_queries("empirical_limit", "empirical_rows", self.keys, self.values, weighed=False)

    def _of_seen(self, function: str, enclosed: str, precision: str, seen: str) -> Side:
        """A function of what each query sees; `enclosed` is the lemma about it."""
        parts = (self.keys, self.values, self.queries)
        denominators = " ".join(part.denominator for part in parts)
        keys, values, queries = (part.integers for part in parts)
        lemma = f"(S.{enclosed} {precision} {self.scale} {denominators})"
        return Side(
            f"(at_queries ({function} {self.scale}) {self.keys.term} {self.values.term} {seen} {self.queries.term})",
            f"(S.seen_correct _ _ _ {denominators} {lemma} {keys} {values} {seen} {queries} _)",
        )

    def log_normaliser(self) -> Side:
        return self._at_queries("log_normaliser", "log_rows", self.keys)

    def covariance(self, of: str) -> Side:
        sides = {"values": self.values, "keys": self.keys}
        return self._at_queries("covariances", "covariance_rows", self.keys, *(sides[side] for side in COVARIANCES[of]))

    def spectra(self, of: str, bounds: Sequence[str]) -> Conjunct:
        """Bounds for the eigenvalues of the covariances of values, or of keys."""
        side, listed = self.values if of == "values" else self.keys, f"[{'; '.join(bounds)}]"
        matrices = f"(map (covariance_matrix {self.scale} {self.keys.term} {side.term}) {self.queries.term})"
        check = (
            f"S.spectra_sound {self.precision} {self.exponentials} {self.scale} {self.keys.arguments} {side.arguments} "
            f"{self.queries.arguments} {listed} _ _"
        )
        return Conjunct(
            f"Forall (spectra\n    {matrices})\n    {listed}", f"rewrite ?images_mat. refine ({check}); {COMPUTED}"
        )

    def law(self, weights: Row, keys: Points, values: Points) -> Side:
        """Attention over a law with finitely many atoms."""
        return self._at_queries("attention_over", "law_rows", weights, keys, values)

    def _at_queries(self, function: str, rows: str, *of: Points | Row, weighed: bool = True) -> Side:
        """A function of the scale and of these at each query; with the weights of tokens it needs exponentials."""
        terms, arguments = " ".join(each.term for each in of), " ".join(each.arguments for each in of)
        precision = f"{self.precision} {self.exponentials}" if weighed else self.precision
        return _side(
            f"(map ({function} {self.scale} {terms}) {self.queries.term})",
            rows,
            f"{precision} {self.scale} {arguments} {self.queries.arguments}",
        )

    def stated(self, name: str, rows: ExactMatrix) -> Side:
        """Stated vectors, one for each query."""
        table = self.builder.table(name, rows)
        return _side(table.term, "stated_rows", f"{self.precision} {table.arguments}", conditions=False)

    def affine(self, limit: AffineMap) -> Side:
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


# -- the claims


def softmax_mean_instance(certificate: Certificate, *, fast: bool) -> Instance:
    """The whole statement. Raises NotExportableError."""
    theorem = CLAIMS["softmax-mean"]
    problem: AssertedMoments = theorem.read(certificate)
    if ENTROPY in problem.asserts or TOP in problem.asserts:
        raise NotExportableError(
            "an entropy and a sum of the largest weights have no form in Coq here; means, covariances, eigenvalues and "
            "log-normalisers have"
        )
    prompt, compared = problem.prompt, problem.compared
    stated_rows = _stated_rows(problem)
    targets = [largest(rows) for rows in stated_rows.values()]
    squared = COVARIANCE in problem.asserts or EIGENVALUES in problem.asserts
    shape = _size_of_prompt(prompt, targets, squared=squared)
    bits = _precision(theorem.obligations(problem), shape)
    if EIGENVALUES in problem.asserts:
        bits = bits_for_pivots(problem, shape, bits)
    builder = Builder()
    attention = _Attention.of_prompt(builder, prompt, bits)
    comparisons, sums = [], []
    sides = {
        MEAN.name: attention.output,
        COVARIANCE.name: lambda: attention.covariance(problem.whose(COVARIANCE)),
        LOG_NORMALISER.name: attention.log_normaliser,
    }
    for name, rows in stated_rows.items():
        left, right = sides[name](), attention.stated(f"{name}_value", rows)
        radii = builder.row(f"{name}_radius", [compared[name].bound.at(i) for i in range(prompt.count)])
        comparisons.append(distances("linf", left, right, f"[at_most_each {radii.arguments}]", bits.sums_term))
        sums.append(3 * rows.columns if name == COVARIANCE.name else shape.outputs)
    if EIGENVALUES in problem.asserts:
        bounds = [
            f"{relation} {builder.row(constant, [compared[name].bound.at(i) for i in range(prompt.count)]).arguments}"
            for name, relation, constant in _ENDS
            if name in compared
        ]
        of = problem.whose(EIGENVALUES)
        comparisons.append(attention.spectra(of, bounds))
        columns = prompt.key_dimension if of == "keys" else prompt.output_dimension
        sums.append(3 * columns * (columns + 1) // 2 + len(bounds) * columns**3 // (3 * prompt.length))
    return softmax_instance(builder, comparisons, sums, shape, bits, fast=fast)


def output_deviation_instance(certificate: Certificate, *, fast: bool) -> Instance:
    """The whole statement about listed queries, beside a law where it has atoms. Raises NotExportableError."""
    theorem = CLAIMS["output-deviation"]
    problem = theorem.read(certificate)
    if problem.regions:
        raise NotExportableError(
            "a bound over a region of queries has no form in Coq here, only one at listed queries has"
        )
    prompt, limit = problem.prompt, problem.limit
    law = limit.law if isinstance(limit, Operator) else None
    if law is not None and not isinstance(law, Atoms):
        raise NotExportableError(
            "this law has infinitely many tokens and attention over it is no affine map: it has no form in Coq here; "
            "laws of atoms have, and Gaussian ones up to the theorem that makes them affine"
        )
    seen = None if problem.causal is None else seen_tokens(prompt, problem.causal)
    shape = _size_of_prompt(prompt, [fmpq(0)], seen, law, squared=problem.limit_kind == "empirical")
    bits = _precision(theorem.obligations(problem), shape)
    builder = Builder()
    attention = _Attention.of_prompt(builder, prompt, bits, seen)
    says = AFFINE_SAYS if problem.limit_kind == "law" and isinstance(limit, AffineMap) else None
    if problem.limit_kind == "empirical":
        right = attention.empirical()
    elif isinstance(limit, AffineMap):
        right = attention.affine(limit)
    else:
        assert law is not None
        right = attention.law(*_atoms(builder, law, attention.maps, prompt))
    left, bounds = attention.output(), _bounds(builder, problem)
    comparison = distances(problem.bounds[NORM], left, right, bounds, bits.sums_term)
    return softmax_instance(builder, [comparison], [shape.outputs], shape, bits, says, fast=fast)


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
    shape = _size_of_law(ExactMatrix.rational(law.points), truth.V, queries @ truth.U.T, truth.scale, values)
    bits = _precision(theorem.obligations(stated_operator), shape)
    builder = Builder()
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
    bounds, law_side = f"[at_most_each {radii.arguments}]", attention.law(weights, keys, outputs)
    comparison = distances("linf", law_side, right, bounds, bits.sums_term)
    return softmax_instance(builder, [comparison], [shape.outputs], shape, bits, fast=fast)


# -- parts of them


def _atoms(builder: Builder, law: Atoms[fmpq], maps: _Maps, prompt: StatedPrompt | None) -> tuple[Row, Points, Points]:
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


def _bounds(builder: Builder, problem: AssertedDeviation) -> str:
    """The assertions, as a list of `bound`."""
    bounds, parts = problem.bounds, []
    if AT_MOST in bounds:
        parts.append(f"at_most_each {builder.row('at_most', [bounds[AT_MOST]] * problem.count).arguments}")
    if AT_LEAST in bounds:
        parts.append(f"at_least_somewhere {builder.number('at_least', bounds[AT_LEAST]).arguments}")
    if RELATIVE in bounds:
        factors = builder.row("relative", [bounds[RELATIVE]] * problem.count)
        parts.append(f"at_most_times_each {factors.arguments}")
    if each := problem.each(EACH_AT_MOST):
        parts.append(f"at_most_each {builder.row('each_at_most', each).arguments}")
    if each := problem.each(EACH_AT_LEAST):
        parts.append(f"at_least_each {builder.row('each_at_least', each).arguments}")
    if each := problem.each(EACH_RELATIVE):
        parts.append(f"at_most_times_each {builder.row('each_relative', each).arguments}")
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


# -- precision


def _size_of_prompt(
    prompt: StatedPrompt,
    targets: Sequence[fmpq],
    seen: Sequence[int] | None = None,
    law: Atoms[fmpq] | None = None,
    *,
    squared: bool = False,
) -> Size:
    exact, queries = prompt.exact, prompt.stated_queries @ prompt.query_map.T
    score = largest_score(exact.keys, queries, exact.scale)
    value = max([largest(exact.values), *targets, fmpq(1)])
    if squared:
        value = max(value, largest(exact.keys)) ** 2
    tokens = exact.keys.rows
    weights = queries.rows * tokens if seen is None else sum(seen)
    if law is not None:
        points = ExactMatrix.rational(law.points)
        value, tokens = max(value, largest(points) ** 2), tokens + points.rows
        weights += queries.rows * points.rows
    return Size(weights, tokens, exact.values.columns, value, score)


def _size_of_law(keys: ExactMatrix, V: ExactMatrix, queries: ExactMatrix, scale: Real, targets: ExactMatrix) -> Size:
    """`queries` are those that are multiplied with its points."""
    values = keys @ V.T
    value = max(largest(values), largest(targets), fmpq(1))
    return Size(queries.rows * keys.rows, keys.rows, values.columns, value, largest_score(keys, queries, scale))


def _precision(obligations: Iterable[Obligation | NoProof], size: Size) -> Bits:
    """Bits with which intervals decide what the certificate asserts. Raises NotExportableError where none do."""
    with working_precision(SLACK_BITS):
        slack = slack_of(obligations, SLACK_BITS)
    return precision_for(slack, size)
