"""Theorem `descent-trajectory`: training on concrete prompts beside training on infinite ones, step by step.

Given N prompts of numbers, each with a query and a target, a start theta_0 and a step eta, let

    theta_(k+1) = theta_k - eta grad R(theta_k),      k = 0, ..., K - 1,

be gradient descent on the loss R_L of these prompts (theta^L) and on the loss R_inf of infinite prompts
(theta^inf). A certificate asserts, with the Frobenius norm of all trained numbers, one or more of

    distance       |theta_k^L - theta_k^inf| <= eps_k                        for every k <= K
    risk_gap       |R_L - R_inf| <= eps_k                                    for every k <= K
    gradient_gap   |grad R_L - grad R_inf| <= eps_k                          for every k <= K
    checkpoints    ranges of the distance and of both risks, and the iterates up to a radius, at stated k
    gronwall       |theta_k^L - theta_k^inf| <= g ((1 + eta nu)^k - 1)/nu     by constants of a tube around theta^inf

Both descents are enclosed from the exact start. Boursier and Boyer 2026, sections 4 and 5. The models are

    regression   tokens x_i with labels y_i and scores <x_i, A x>; values b y_i; the infinite side is R(A, b) over
                 all tasks, or with `tasks` w_n the loss of the N tasks with infinite prompts
    attention    scores <z_i, U q> and values V z_i; the infinite side has the law of the tokens for each prompt

For `gronwall`, if within r of theta_0^inf, ..., theta_(K-1)^inf the gradients differ by at most g and
|I - eta Hess R_inf| is at most 1 + eta nu, and g ((1 + eta nu)^K - 1)/nu <= r, then the stated bound holds for k <= K.

Each descent is carried by centres and a factor by which a step expands distances (`enclosed_descent`), so that errors
do not grow where descent contracts. The concrete prompts are enclosed in Arb balls or in binary64 (`stored_losses`).

In the tube, where -mu <= Hess R_inf <= beta, nu = max(mu, beta - 2/eta) will do; and the gap of the gradients changes,
from the centre to the border of such a ball, by at most r max(beta_L + mu, beta + mu_L).

A context that is a law mu of tokens, keys and values at once, has m(a) = tau(a) and C(a) = tau'(a), its covariance
under the tilt. The context of a regression task w, x ~ N(0, Sigma) and y = <w, x>, has keys x and values y:

    m(a) = w'Sigma a,      C(a) = w'Sigma.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

from flint import arb, arb_mat, ctx, fmpq

from certattn.kernel.decide.obligation import NoBound, Obligation, Part, Relation, Tier, Together
from certattn.kernel.decide.theorem import BITS, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix, Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import (
    ByKey,
    Choice,
    CountUpTo,
    Field,
    Listing,
    Rational,
    Record,
    Values,
    Variant,
    some_of,
)
from certattn.kernel.given.token_laws import LAW, StatedLaw
from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosed_descent import Stretch, stretches
from certattn.kernel.mathematics.enclosure import Enclosure, around, inflated, widened
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import N, natural_power
from certattn.kernel.mathematics.law_moments import third_cumulant, tilted_covariance
from certattn.kernel.mathematics.laws import Law
from certattn.kernel.mathematics.spectrum import largest_eigenvalue
from certattn.kernel.theorems.training import context_losses as contexts
from certattn.kernel.theorems.training import regression as task
from certattn.kernel.theorems.training import stated_prompts

# -- what is given

STEP = Field("step", Rational(above=0), "the step eta of both descents")
# So many steps take hours where prompts are short.
MOST_STEPS = 100_000
STEPS = Field("steps", CountUpTo(1, MOST_STEPS, "step"), "K, the number of steps")
TASKS = Field("tasks", Matrix(), "w_n of each prompt, one per row; left out: prompts of all tasks", required=False)
U = Field("U", Matrix(), "the matrix U of the scores <z_i, U q>")
V = Field("V", Matrix(), "the matrix V of the values V z_i")
WEIGHTS_START = Field("start", Record(U, V), "where both descents start")
LAWS = Field("laws", Listing(LAW), "law of the tokens of infinite prompts: one for all prompts, or one for each")

REGRESSION, ATTENTION = "regression", "attention"
OF_TASKS = Record(task.COVARIANCE, TASKS, task.START, STEP, STEPS, *stated_prompts.REGRESSION_PROMPTS)
OF_LAWS = Record(LAWS, WEIGHTS_START, STEP, STEPS, *stated_prompts.ATTENTION_PROMPTS)
GIVEN = Variant("model", {REGRESSION: OF_TASKS, ATTENTION: OF_LAWS})

# -- what is asserted

# Where two losses are compared: each at its own iterate, or both at one of the two.
EACH, FINITE, INFINITE = "each", "finite", "infinite"
BOUNDS = Field("at_most", Vector(), "one bound for every k = 0, ..., K, or K + 1 bounds, the first for k = 0")
WHERE = Field("at", Choice((EACH, FINITE, INFINITE)), "each loss at its own iterate, or both at that of one")
TUBE = Field("distance", Record(BOUNDS), "bounds of the distance of the two iterates", required=False)
RISK_GAP = Field("risk_gap", Record(WHERE, BOUNDS), "bounds of |R_L - R_inf|", required=False)
GRADIENT_GAP = Field("gradient_gap", Record(WHERE, BOUNDS), "bounds of |grad R_L - grad R_inf|", required=False)

AT_MOST = Field("at_most", Rational(), "upper bound", required=False)
AT_LEAST = Field("at_least", Rational(), "lower bound", required=False)
RANGE = Record(AT_MOST, AT_LEAST, rules=[some_of(AT_MOST, AT_LEAST)])
RADIUS = Field("radius", Rational(minimum=0), "largest distance of the iterate from this point")
# Told apart by a key of the weights that the model trains.
_POINT = ByKey({task.A.name: Record(task.A, task.B, RADIUS), U.name: Record(U, V, RADIUS)})
CHECKPOINT_STEP = Field("step", CountUpTo(0, MOST_STEPS), "k")
DISTANCE = Field("distance", RANGE, "range of |theta_k^L - theta_k^inf|", required=False)
FINITE_POINT = Field(FINITE, _POINT, "a point near theta_k^L", required=False)
INFINITE_POINT = Field(INFINITE, _POINT, "a point near theta_k^inf", required=False)
FINITE_RISK = Field("finite_risk", RANGE, "range of R_L(theta_k^L)", required=False)
INFINITE_RISK = Field("infinite_risk", RANGE, "range of R_inf(theta_k^inf)", required=False)
_AT_STEP = (DISTANCE, FINITE_POINT, INFINITE_POINT, FINITE_RISK, INFINITE_RISK)
CHECKPOINT = Record(CHECKPOINT_STEP, *_AT_STEP, rules=[some_of(*_AT_STEP)])
CHECKPOINTS = Field("checkpoints", Listing(CHECKPOINT), "what holds after some steps", required=False)

TUBE_RADIUS = Field("radius", Rational(above=0), "r, the radius of the tube around the infinite iterates")
GAP = Field("gap", Rational(above=0), "g, a bound of |grad R_L - grad R_inf| in the tube")
RATE = Field("rate", Rational(above=0), "nu, with |I - eta Hess R_inf| <= 1 + eta nu in the tube")
TUBE_STEPS = Field("steps", CountUpTo(1, MOST_STEPS), "steps that it is for, at most K; K if left out", False)
_NUMBERS = Record(TUBE_RADIUS, GAP, RATE, TUBE_STEPS)
GRONWALL = Field("gronwall", _NUMBERS, "the closed bound of the distance", required=False)

_ASSERTED = (TUBE, RISK_GAP, GRADIENT_GAP, CHECKPOINTS, GRONWALL)
ASSERTS = Record(*_ASSERTED, rules=[some_of(*_ASSERTED)])
WITNESS = Record(BITS)


# -- infinite prompts


@dataclass(frozen=True)
class LawContext:
    """All tokens of a law whose parameters are balls."""

    law: Law[arb]

    def moments(self, near: contexts.Near) -> contexts.Moments:
        entries = near.box()
        mean = self.law.tilted_mean(entries)
        return contexts.Moments(arb_mat(len(mean), 1, mean), arb_mat(tilted_covariance(self.law, entries)))

    def bend(self, near: contexts.Near, along: arb_mat) -> arb_mat:
        return arb_mat(third_cumulant(self.law, near.box(), along.entries()))


@dataclass(frozen=True)
class TaskContext:
    """All tokens (x, <w, x>) of a regression task; `slope` is the row w'Sigma."""

    slope: arb_mat

    def moments(self, near: contexts.Near) -> contexts.Moments:
        tilt = near.box()
        return contexts.Moments(self.slope * arb_mat(len(tilt), 1, tilt), self.slope)

    def bend(self, near: contexts.Near, along: arb_mat) -> arb_mat:
        """0: m is linear."""
        return arb_mat(self.slope.ncols(), self.slope.ncols())


@dataclass(frozen=True)
class PopulationLoss:
    """R(A, b) over all tasks and queries, as in `regression`; U = A and V = (b).

    The second derivative along (H, h) is |D Sigma^(1/2)|^2 + 2h <Sigma E Sigma, H> with D = h Sigma A + b Sigma H, and

        |D Sigma^(1/2)|^2 <= (|Sigma A Sigma^(1/2)|^2 + b^2 lam^3) |(H, h)|^2,   lam >= the norm of Sigma.
    """

    regression: task.Regression
    largest: arb
    shared_by: int = contexts.SHARED_BY

    def at(self, point: contexts.Trained) -> contexts.Evaluation:
        parameters = task.Parameters(task.BallMatrix(point.U), point.V[0, 0])
        risk, gradient = self.regression.risk(parameters), self.regression.gradient(parameters)
        return contexts.Evaluation(risk, contexts.Trained(gradient.A.balls, arb_mat([[gradient.b]])))

    def curvatures(self, around: contexts.Trained, radius: arb) -> contexts.Curvatures:
        A, b = task.BallMatrix(contexts.inflated_matrix(around.U, radius)), inflated(around.V[0, 0], radius)
        covariance = self.regression.covariance
        moved = covariance @ A
        squares = (moved @ covariance).inner(moved) + b * b * natural_power(self.largest, 3)
        rest = l2_norm(self.regression.residual(task.Parameters(A, b)).entries())
        return contexts.Curvatures(squares + rest, rest)


# -- two descents


@dataclass(frozen=True, eq=False)
class Iterate:
    """A point of a descent on a loss, with R and its gradient there."""

    loss: contexts.Loss
    point: contexts.Trained
    evaluation: contexts.Evaluation

    @classmethod
    def of(cls, loss: contexts.Loss, point: contexts.Trained) -> Iterate:
        """Evaluated all over the balls of a point."""
        return cls(loss, point, loss.at(point).within(arb(0), arb(0)))


class DescentStep:
    """theta -> theta - eta grad R(theta), for `stretches`, whose centres come in the order in which steps are asked.

    What was evaluated for a step is kept until the centre comes.
    """

    def __init__(self, loss: contexts.Loss, start: contexts.Trained, size: arb) -> None:
        self._loss, self._start, self._size = loss, start, size
        self._evaluated = deque[tuple[list[arb], contexts.Evaluation]]()

    def of(self, point: list[arb]) -> Enclosure:
        """Where the step leads."""
        at = self._start.around_all(point)
        found = self._loss.at(at)
        self._evaluated.append((point, found))
        image = around((at - found.gradient.scaled(self._size)).entries())
        return Enclosure(image.centre, (image.error + self._size * found.error).upper())

    def expansion(self, box: list[arb], distance: arb) -> arb:
        """A bound of how much the step expands distances among what is so near to the box."""
        return self._loss.curvatures(self._start.around_all(box), distance).expansion(self._size)

    def iterates(self, stretch: Stretch) -> Iterator[Iterate]:
        """Those of a stretch. As |I - eta Hess R| <= Lambda there, |Hess R| <= (1 + Lambda) / eta."""
        error, curvature = stretch.error, (1 + stretch.factor) / self._size
        for centre in stretch.centres:
            asked, evaluation = self._evaluated.popleft()
            if asked is not centre:
                raise RuntimeError("a stretch has another centre than the step was asked for")
            point = self._start.around_all(widened(centre, error))
            yield Iterate(self._loss, point, evaluation.within(error, curvature))


def iterates(loss: contexts.Loss, start: contexts.Trained, size: arb, steps: int) -> Iterator[Iterate]:
    """theta_0, ..., theta_steps, as far as they are enclosed."""
    step = DescentStep(loss, start, size)
    # One step more, so that the last iterate too is in a stretch.
    for stretch in stretches(step, around(start.entries()), steps + 1, loss.shared_by):
        yield from step.iterates(stretch)


@dataclass(frozen=True, eq=False)
class Pair:
    """theta_k of the descent on the finite prompts, and of that on the infinite ones."""

    k: int
    finite: Iterate
    infinite: Iterate

    def distance(self) -> arb:
        """|theta_k^L - theta_k^inf|, which is 0 at the start: it is the same point, whatever its balls."""
        return arb(0) if self.k == 0 else (self.finite.point - self.infinite.point).norm()

    def compared(self, at: str) -> tuple[contexts.Evaluation, contexts.Evaluation]:
        """R_L and R_inf with their gradients: `at` EACH's own iterate, or both at that of one."""
        finite = self._finite_at_infinite if at == INFINITE else self.finite
        infinite = self._infinite_at_finite if at == FINITE else self.infinite
        return finite.evaluation, infinite.evaluation

    def risk_gap(self, at: str) -> arb:
        """|R_L - R_inf|."""
        finite, infinite = self.compared(at)
        return abs(finite.risk - infinite.risk)

    def gradient_gap(self, at: str) -> arb:
        """|grad R_L - grad R_inf|."""
        finite, infinite = self.compared(at)
        return (finite.gradient - infinite.gradient).norm()

    @cached_property
    def _finite_at_infinite(self) -> Iterate:
        return Iterate.of(self.finite.loss, self.infinite.point)

    @cached_property
    def _infinite_at_finite(self) -> Iterate:
        return Iterate.of(self.infinite.loss, self.finite.point)


@dataclass(frozen=True)
class Tube:
    """What holds within r of theta_k^inf: bounds of |grad R_L - grad R_inf|, and of nu."""

    gap: arb
    rate: arb


def tube_around(pair: Pair, radius: fmpq, step: arb) -> Tube:
    """The bounds at one k."""
    point, r = pair.infinite.point, arb(radius)
    finite, infinite = pair.finite.loss.curvatures(point, r), pair.infinite.loss.curvatures(point, r)
    change = (finite.upward + infinite.downward).max(infinite.upward + finite.downward)
    rate = infinite.downward.max(infinite.upward - 2 / step)
    return Tube(pair.gradient_gap(INFINITE) + change * r, rate)


def growth(gap: N, rate: N, step: N, steps: int) -> N:
    """g ((1 + eta nu)^k - 1)/nu."""
    return gap * (natural_power(1 + step * rate, steps) - 1) / rate


def pairs(
    finite: contexts.Loss, infinite: contexts.Loss, start: contexts.Trained, step: arb, steps: int
) -> Iterator[Pair]:
    """Both descents from the same start, side by side, up to so many steps, as far as they are enclosed."""
    both = (iterates(loss, start, step, steps) for loss in (finite, infinite))
    for k, (left, right) in enumerate(zip(*both, strict=False)):
        yield Pair(k, left, right)


def _loss_in(prompts: stated_prompts.StatedPrompts, tier: Tier | None) -> contexts.Loss:
    """The loss over these prompts, in balls or in binary64. Raises Binary64Error."""
    if tier is None:
        return contexts.loss_of(prompts)
    # Imported where it is tried: it needs numpy.
    from certattn.kernel.theorems.training.stored_losses import StoredLoss

    return StoredLoss(prompts)


# -- what is stated


@dataclass(frozen=True)
class Descents:
    """The section `given`: `infinite` makes the loss of infinite prompts at the working precision.

    Both start at the exact `weights` U and V, which for regression are A and (b).
    """

    model: str
    given: Values
    prompts: stated_prompts.StatedPrompts
    infinite: Callable[[], contexts.Loss]
    weights: tuple[ExactMatrix, ExactMatrix]

    @property
    def steps(self) -> int:
        return self.given[STEPS]

    def pairs(self, steps: int, tier: Tier | None = None) -> Iterator[Pair]:
        """Both, side by side, up to so many steps, at the working precision, the finite one in a tier."""
        start = contexts.Trained.around(*self.weights)
        return pairs(_loss_in(self.prompts, tier), self.infinite(), start, arb(self.given[STEP]), steps)


@dataclass(frozen=True, eq=False)
class Compared:
    """A number that the pair of iterates after so many steps has, None where nothing bounds it, beside a bound."""

    name: str
    step: int
    value: Callable[[Pair], arb | None]
    relation: Relation
    bound: fmpq
    part: Part = Part.STATEMENT


@dataclass(frozen=True)
class StatedDescents:
    """Both descents, and what is compared: of the pairs themselves, and for `gronwall` in the tube."""

    descents: Descents
    asserts: Values
    compared: list[Compared]
    in_tube: list[Compared]


def read(certificate: Certificate) -> StatedDescents:
    """Every step and shape checked. Raises MalformedError."""
    if certificate.witness is not None:
        WITNESS.read(certificate.witness, certificate.reading)
    descents = read_given(certificate)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    in_tube = _in_tube(asserts[GRONWALL], descents) if GRONWALL in asserts else []
    return StatedDescents(descents, asserts, list(_compared(asserts, descents)), in_tube)


def read_given(certificate: Certificate) -> Descents:
    """The section `given` alone. Raises MalformedError."""
    model, given = GIVEN.read(certificate.given, certificate.reading)
    return _regression(given) if model == REGRESSION else _attention(given)


def _regression(given: Values) -> Descents:
    covariance, tasks = task.read_covariance(given[task.COVARIANCE]), given.get(TASKS)
    size = covariance.rows
    given[task.START][task.A].require_shape(size, size, "like the covariance")
    prompts = stated_prompts.read_regression_prompts(given, size)
    if tasks is not None:
        tasks.require_shape(prompts.count, size, "(a task per query)")

    def infinite() -> contexts.Loss:
        if tasks is None:
            regression = task.regression_of_balls(covariance)
            return PopulationLoss(regression, largest_eigenvalue(regression.covariance.balls, ctx.prec))
        slopes = tasks.load() @ covariance
        return contexts.loss_in(
            prompts, [TaskContext(contexts.balls_of(slopes.take_rows([n]))) for n in range(prompts.count)]
        )

    return Descents(REGRESSION, given, prompts, infinite, _weights(given[task.START]))


def _attention(given: Values) -> Descents:
    laws, start = given[LAWS], given[WEIGHTS_START]
    size = laws[0].dimension
    for law in laws:
        if law.dimension != size:
            raise law.node.malformed(f"dimension {size}, like the first law", f"{law.dimension}")
    start[U].require_shape(size, None, "like the law of the tokens")
    start[V].require_shape(None, size, "like the law of the tokens")
    prompts = stated_prompts.read_attention_prompts(given, size, start[U].shape[1], start[V].shape[0])
    if len(laws) not in (1, prompts.count):
        expected = f"one law, or one for each of {counted(prompts.count, 'prompt')}"
        raise given.node(LAWS).malformed(expected, counted(len(laws), "law"))
    each: list[StatedLaw] = laws if len(laws) == prompts.count else laws * prompts.count
    infinite = lambda: contexts.loss_in(prompts, [LawContext(law.law.map(arb)) for law in each])  # noqa: E731
    return Descents(ATTENTION, given, prompts, infinite, _weights(start))


def _weights(values: Values) -> tuple[ExactMatrix, ExactMatrix]:
    if task.A in values:
        return values[task.A].load(), ExactMatrix.row_vector([values[task.B]])
    return values[U].load(), values[V].load()


def _compared(asserts: Values, descents: Descents) -> Iterator[Compared]:
    if TUBE in asserts:
        yield from _every_step(TUBE, Pair.distance, asserts, descents.steps)
    for field, gap in ((RISK_GAP, Pair.risk_gap), (GRADIENT_GAP, Pair.gradient_gap)):
        if field in asserts:
            yield from _every_step(field, partial(gap, at=asserts[field][WHERE]), asserts, descents.steps)
    for index, checkpoint in enumerate(asserts.items(CHECKPOINTS)):
        yield from _checkpoint(f"{CHECKPOINTS.name}[{index}]", checkpoint, descents)


def _every_step(field: Field[Values], value: Callable[[Pair], arb], asserts: Values, steps: int) -> Iterator[Compared]:
    """A bound for every k = 0, ..., K."""
    vector, number = asserts[field][BOUNDS], steps + 1
    if vector.shape[1] not in (1, number):
        expected = f"one bound, or {number} bounds for k = 0, ..., {steps}"
        raise vector.node.malformed(expected, counted(vector.shape[1], "bound"))
    bounds = vector.load().row(0)
    for k, bound in enumerate(bounds * number if len(bounds) == 1 else bounds):
        yield Compared(f"{field.name}[{k}]", k, value, "<=", bound)


_RANGES: Sequence[tuple[Field[Values], Callable[[Pair], arb]]] = (
    (DISTANCE, Pair.distance),
    (FINITE_RISK, lambda pair: pair.finite.evaluation.risk),
    (INFINITE_RISK, lambda pair: pair.infinite.evaluation.risk),
)
_ENDS: Sequence[tuple[Field[fmpq], Relation]] = ((AT_LEAST, ">="), (AT_MOST, "<="))


def _checkpoint(name: str, stated: Values, descents: Descents) -> Iterator[Compared]:
    """Ranges of numbers, and points near the iterates, after k steps."""
    k = stated[CHECKPOINT_STEP]
    if k > descents.steps:
        raise stated.node(CHECKPOINT_STEP).malformed(f"a step up to K = {descents.steps}", f"{k}")
    for field, value in _RANGES:
        for end, relation in _ENDS:
            if field in stated and end in stated[field]:
                yield Compared(f"{name}.{field.name}.{end.name}", k, value, relation, stated[field][end])
    for point in (FINITE_POINT, INFINITE_POINT):
        if point in stated:
            distance = partial(_distance, point is FINITE_POINT, _weights_like(descents, *stated[point]))
            yield Compared(f"{name}.{point.name}", k, distance, "<=", stated[point][1][RADIUS])


def _weights_like(descents: Descents, form: str, stated: Values) -> tuple[ExactMatrix, ExactMatrix]:
    """The weights of a point that the model may reach. Raises MalformedError."""
    first, second = (task.A.name, task.B.name) if descents.model == REGRESSION else (U.name, V.name)
    if form != first:
        expected = f"a point with {first} and {second}, which this model trains"
        raise stated.at.malformed(expected, f"a point with {form}")
    found = _weights(stated)
    if [matrix.shape for matrix in found] != [matrix.shape for matrix in descents.weights]:
        raise stated.at.malformed("a point of the shapes of the start", "other shapes")
    return found


def _distance(finite: bool, point: tuple[ExactMatrix, ExactMatrix], pair: Pair) -> arb:
    iterate = pair.finite if finite else pair.infinite
    return (iterate.point - contexts.Trained.around(*point)).norm()


# -- the closed bound

# A bound over the tube is wide because the tube is. It is only compared where the iterate is known to this part of
# the radius, and counts as not to be had where even this part less of it is too much: more bits gain no more.
_PART = fmpq(1, 1024)
_EXACT_STEPS = 1000


def tube_steps(stated: Values, descents: Descents) -> int:
    """For how many steps the bound is."""
    return stated.get(TUBE_STEPS) or descents.steps


def _in_tube(stated: Values, descents: Descents) -> list[Compared]:
    """What holds within r of theta_0^inf, ..., theta_(K-1)^inf. Raises MalformedError."""
    steps = tube_steps(stated, descents)
    if steps > descents.steps:
        raise stated.node(TUBE_STEPS).malformed(f"at most K = {descents.steps} steps", f"{steps}")
    radius, gap, rate = stated[TUBE_RADIUS], stated[GAP], stated[RATE]
    # Two numbers are asked of each pair, one after the other.
    tube = lru_cache(1)(lambda pair: tube_around(pair, radius, arb(descents.given[STEP])))
    found = []
    for k in range(steps):
        found += [
            Compared(f"gronwall.centre[{k}]", k, lambda pair: pair.gradient_gap(INFINITE), "<=", gap),
            Compared(f"gronwall.gap[{k}]", k, lambda p: _bounded(tube(p).gap, p, radius), "<=", gap, Part.WITNESS),
            Compared(f"gronwall.rate[{k}]", k, lambda p: _bounded(tube(p).rate, p, radius), "<=", rate, Part.WITNESS),
        ]
    return found


def _bounded(bound: arb, pair: Pair, radius: fmpq) -> arb | None:
    """A bound over the tube, not finite where the iterate is not known well enough for it to be compared."""
    upper = bound.upper()
    if (pair.infinite.point.error() < _PART * radius) is not True:
        return arb.nan()
    return upper.union(upper * (1 - _PART)) if upper.is_finite() is True else None


def _closing(stated: Values, descents: Descents) -> arb | fmpq:
    """g ((1 + eta nu)^K - 1)/nu: exact where that is short, for the stated radius may be the bound itself."""
    steps = tube_steps(stated, descents)
    exact: tuple[fmpq, fmpq, fmpq] = stated[GAP], stated[RATE], descents.given[STEP]
    if steps <= _EXACT_STEPS:
        return growth(*exact, steps)
    gap, rate, step = map(arb, exact)
    return growth(gap, rate, step, steps)


# -- what proves it


def obligations(stated: StatedDescents) -> Iterator[Obligation]:
    numbers = Together[Compared, arb | None](lambda wanted, tier: _walk(stated.descents, wanted, tier))

    def sides(one: Compared, tiers: Sequence[Tier] = ()) -> Obligation:
        return Obligation(one.name, numbers.side(_known, one, tiers=tiers), one.relation, one.bound, one.part)

    for one in stated.compared:
        yield sides(one, stated.descents.prompts.tiers)
    if GRONWALL in stated.asserts:
        bound = stated.asserts[GRONWALL]
        yield Obligation("gronwall.radius", partial(_closing, bound, stated.descents), "<=", bound[TUBE_RADIUS])
        yield from map(sides, stated.in_tube)


def _walk(descents: Descents, wanted: Collection[Compared], tier: Tier | None) -> dict[Compared, arb | None]:
    """Both descents at the working precision, as far as is asked for. Of each pair only numbers are kept."""
    by_step: dict[int, list[Compared]] = {}
    for one in wanted:
        by_step.setdefault(one.step, []).append(one)
    # What is not reached is not known.
    found: dict[Compared, arb | None] = dict.fromkeys(wanted, arb.nan())
    for pair in descents.pairs(max(by_step), tier):
        found.update((one, one.value(pair)) for one in by_step.get(pair.k, []))
    return found


def _known(number: arb | None) -> arb:
    if number is None:
        raise NoBound("no bound is found: the radius is too large")
    return number


TITLE = "gradient descent on concrete prompts beside the same descent on infinite ones"
THEOREM = Theorem("descent-trajectory", TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
