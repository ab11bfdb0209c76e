"""Theorem `risk-transfer`: training on prompts that are long enough ends with a risk as small as stated.

In-context linear regression (Boursier and Boyer 2026, sections 4 and 5) with covariance Sigma. Let R_L(A, b) be the
population risk 1/2 E (b sum_i y_i p_i - <w, x>)^2 over prompts of L tokens x_i ~ N(0, Sigma), y_i = <w, x_i>, with
w ~ N(0, I), a query x ~ N(0, Sigma) and p the softmax of the scores <x_i, A x>; and R that of infinite prompts. Both
are trained by gradient flow from the same start (A, b), where A is symmetric and commutes with Sigma. A certificate
asserts for every length from the given one on

    R_L <= risk at all times t >= time, so that lim R_L <= risk, while lim R = 0,

and it may assert that up to that time the two runs are no further apart than `tube` (theorem 4.3 there, with numbers).
Or N prompts are given, as numbers, and R_L is their loss 1/(2N) sum_n (b sum_i y_i p_i - t_n)^2.

Proof: R_L never grows along its flow. So it is enough that the flow is where R_L <= risk at one time up to `time`. The
witness cuts the lengths into ranges, each with sums of exponentials near the moments of the softmax weights
(`weight_fits`), which make R_L elementary up to a known error (`finite_gap`); a tube follows the flows of all lengths
of a range at once (`length_tube`), and in its end R_L is bounded. The runs over infinite prompts are followed in the
same way, with nothing in the place of the sums. The flow on given prompts is enclosed beside a polygon
(`prompt_polygon`). Proofs: docs/claims/training/risk-transfer.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, repeat
from typing import Generic, TypeVar

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoBound, Obligation, Part, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix, MatrixInput
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import ByKey, CountUpTo, Field, Listing, Rational, Record, Values
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.softmax_powers import MOST_VARIANCE
from certattn.kernel.mathematics.weight_fits import AFTER, BEFORE, ExponentialSum, Fit, WeightFit, WeightTable, room
from certattn.kernel.theorems.training import context_losses as contexts
from certattn.kernel.theorems.training import regression as task
from certattn.kernel.theorems.training import stated_prompts
from certattn.kernel.theorems.training.finite_gap import Spectrum
from certattn.kernel.theorems.training.length_tube import Flow, Piece, follow, risk_bound
from certattn.kernel.theorems.training.prompt_polygon import Distance, Leg, legs, risk_near
from certattn.kernel.theorems.training.shared_spectrum import SharedSpectrum, shared_spectrum

# Longer prompts are meant by every certificate; moments are computed at no larger ends of ranges.
MOST_LENGTH = 10**9
_LENGTH = CountUpTo(2, MOST_LENGTH)
LENGTH = Field("length", _LENGTH, "the least length L of the prompts")
OF_LENGTHS = Record(task.COVARIANCE, task.START, LENGTH)
GIVEN = ByKey({"tokens": Record(task.COVARIANCE, task.START, *stated_prompts.REGRESSION_PROMPTS), "length": OF_LENGTHS})

RISK = Field("risk", Rational(minimum=0), "bound of the risk R_L")
TIME = Field("time", Rational(above=0), "time from which it holds")
TUBE = Field("tube", Rational(above=0), "distance of the two runs up to that time, at most", required=False)
ASSERTS = Record(RISK, TIME, TUBE)

MOST_PIECES = 10_000
PIECES = Field("pieces", CountUpTo(1, MOST_PIECES), "intervals into which the time is cut", required=False)
TRAVEL = Field("travel", Rational(above=0), "longest leg of the polygon beside a flow on given prompts", required=False)

UNTIL = Field("until", _LENGTH, "the largest length of the range; left out in the last one", required=False)
SPAN = Field("time", Rational(above=0), "time at which its flows have the stated risk, or `later` begins")
CUTS = Field("pieces", CountUpTo(1, MOST_PIECES), "intervals into which that time is cut")
SUMS = Field("sums", Matrix(), "rows [rate <= 0, two factors for q, two for q - 9/2 kappa] of what is near them")
ERRORS = Field(
    "errors", Matrix(), "rows [rate >= 0, factor >= 0, factor >= 0] of what is above the distances from them"
)
LATER = Field("later", Record(SPAN, CUTS), "a later time, and intervals of another length up to it", required=False)
RANGE = Record(UNTIL, SPAN, CUTS, LATER, SUMS, ERRORS)
RANGES = Field("ranges", Listing(RANGE), "ranges of lengths, each from where the one before ends", required=False)
LENGTHS = Field("lengths", Listing(_LENGTH), "lengths, in order, for which moments are computed", required=False)
# Moments are computed at some thousand nodes, at most.
SPACING = Field("spacing", Rational(above=0), "distance of variances at which moments are computed", required=False)
REACH = Field("reach", CountUpTo(1, MOST_VARIANCE), "variance up to which they are so far apart", required=False)
WITNESS = Record(SPACING, REACH, LENGTHS, RANGES, PIECES, TRAVEL)

DEFAULT_PIECES = 100
DEFAULT_TRAVEL = fmpq(1, 1000)
LEAST_SPACING = fmpq(1, 64)
DEFAULT_REACH = 8

# -- what a certificate states


T = TypeVar("T")


class Followed(Generic[T]):
    """A run that is followed once per precision, as `Shared`; `last` is the one that was followed last, for words."""

    def __init__(self, follow: Callable[[], T]) -> None:
        self._follow = Shared(follow)
        self.last: T | None = None

    def __call__(self) -> T:
        self.last = self._follow()
        return self.last


@dataclass(frozen=True)
class Stage:
    """A stretch of time, and the pieces that it is cut into."""

    time: fmpq
    pieces: int

    @property
    def duration(self) -> fmpq:
        """Of a piece."""
        return self.time / self.pieces


@dataclass(frozen=True)
class Range:
    """The lengths of a fit, and stages at the end of which their flows have the stated risk."""

    fit: WeightFit
    stages: Sequence[Stage]

    @property
    def time(self) -> fmpq:
        """When that is."""
        return sum((each.time for each in self.stages), fmpq(0))

    @property
    def pieces(self) -> int:
        """Until then."""
        return sum(each.pieces for each in self.stages)

    def more(self, until: fmpq) -> fmpq:
        """How many pieces of the last stage are needed from there to a time."""
        return (until - self.time) / self.stages[-1].duration

    def durations(self, until: fmpq) -> Iterator[fmpq]:
        """Of all pieces up to a time, which these make up."""
        for each in self.stages:
            yield from repeat(each.duration, each.pieces)
        yield from repeat(self.stages[-1].duration, int(self.more(until).p))


@dataclass(frozen=True)
class Ranges:
    """What the witness says of the lengths from the stated one on."""

    ranges: Sequence[Range]
    lengths: Sequence[int]
    spacing: fmpq
    reach: int

    @cached_property
    def table(self) -> WeightTable:
        """The moments at some lengths."""
        return WeightTable(self.spacing, self.reach, self.lengths)

    @cached_property
    def rooms(self) -> Followed[list[arb]]:
        """Of every fit."""
        return Followed(lambda: [room(each.fit, self.table) for each in self.ranges])

    def room(self) -> arb:
        """Of the fit that has least."""
        worst = arb.pos_inf()
        for each in self.rooms():
            worst = worst.min(each)
        return worst


@dataclass(frozen=True)
class StatedTransfer:
    """Sigma and (A, b) exactly, the sections, and prompts where some are given, or else how lengths are covered.

    `spectrum` has the eigenvalues of Sigma and A where lengths are meant.
    """

    given: Values
    asserts: Values
    covariance: ExactMatrix
    start: task.Parameters
    prompts: stated_prompts.StatedPrompts | None
    spectrum: SharedSpectrum | None
    lengths: Ranges | None
    pieces: int
    travel: fmpq

    @cached_property
    def twice_the_risk(self) -> task.Number:
        """2R over infinite prompts at the start."""
        return 2 * task.exact_regression(self.covariance).risk(self.start)

    @property
    def balanced_below(self) -> bool:
        """Whether |A|_F^2 < b^2 at the start, from where R tends to 0."""
        return bool(self.start.invariant() < 0)

    @property
    def falls_from_the_start(self) -> bool:
        """Whether |A|_F^2 < b^2 or 2R < tr Sigma at the start, from where R tends to 0."""
        return self.balanced_below or bool(self.twice_the_risk < self.covariance.trace())

    @property
    def known_at_the_start(self) -> bool:
        """Whether the start says if R tends to 0: where the flow of R does not move at all, that it does not."""
        gradient = task.exact_regression(self.covariance).gradient(self.start)
        return self.falls_from_the_start or bool(gradient.inner(gradient) == 0)

    def at_the_start(self) -> Obligation:
        """That R tends to 0."""
        if self.balanced_below:
            return Obligation("infinite", self.start.invariant(), "<", fmpq(0), Part.WITNESS)
        return Obligation("infinite", self.twice_the_risk, "<", self.covariance.trace(), Part.WITNESS)

    def flow(self, fit: WeightFit | None) -> Flow:
        """From the start, for the lengths of a fit, or over infinite prompts."""
        assert self.spectrum is not None
        sigma, a, counts = zip(*self.spectrum.eigenvalues(), strict=True)
        return Flow.of(Spectrum(sigma, counts), fit, [*a, arb(self.start.b)])

    @cached_property
    def flows(self) -> Followed[list[Followable]]:
        """Of every range."""
        assert self.lengths is not None
        ranges = self.lengths.ranges
        return Followed(lambda: [self._followed(each.fit, each, {}) for each in ranges])

    @cached_property
    def infinite(self) -> Followed[list[Followable]]:
        """Over infinite prompts, in the pieces of every range; or of the last one, where no tube is stated."""
        assert self.lengths is not None
        ranges = self.lengths.ranges if TUBE in self.asserts else self.lengths.ranges[-1:]

        def follow_all() -> list[Followable]:
            # One run for all ranges with the same pieces.
            known: dict[tuple[fmpq, ...], list[Piece]] = {}
            return [self._followed(None, each, known) for each in ranges]

        return Followed(follow_all)

    def _followed(self, fit: WeightFit | None, over: Range, known: dict[tuple[fmpq, ...], list[Piece]]) -> Followable:
        """In the pieces of a range, and in more of them up to the stated time, where a tube is stated."""
        flow, until = self.flow(fit), self.asserts[TIME] if TUBE in self.asserts else over.time
        durations = tuple(over.durations(until))
        if durations not in known:
            known[durations] = list(follow(flow, durations))
        return Followable(flow, known[durations], until, over.pieces)

    @cached_property
    def polygon(self) -> Followed[tuple[contexts.Loss, Leg]]:
        """Beside the flow of the loss of given prompts: its last leg."""
        return Followed(self._polygon)

    def _polygon(self) -> tuple[contexts.Loss, Leg]:
        assert self.prompts is not None
        loss, time = contexts.loss_of(self.prompts), self.asserts[TIME]
        start = contexts.Trained.around(self.start.A, ExactMatrix.row_vector([self.start.b]))
        *_, last = legs(loss, start, time, time / self.pieces, self.travel)
        return loss, last


@dataclass(frozen=True)
class Followable:
    """Flows in a tube as far as it is proved, until when it should be, and the pieces before the risk is bounded."""

    flow: Flow
    pieces: Sequence[Piece]
    until: fmpq
    count: int

    @property
    def reached(self) -> fmpq:
        """Up to when the tube is proved."""
        proved = [piece.last for piece in self.pieces if piece.is_proved]
        return proved[-1] if proved else fmpq(0)

    @property
    def is_proved(self) -> bool:
        return self.reached == self.until

    def risk(self) -> arb:
        """Of the flows at the end of the range's time, at most."""
        return risk_bound(self.flow, self.pieces[self.count - 1]) if self.is_proved else arb.nan()


def _least_proved(flows: Sequence[Followable]) -> Followable:
    """One that is lost, or else any."""
    return next((flow for flow in flows if not flow.is_proved), flows[-1])


# -- reading


def read(certificate: Certificate) -> StatedTransfer:
    """Every dimension checked. Raises MalformedError."""
    reading, hints = certificate.reading, None
    form, given = GIVEN.read(certificate.given, reading)
    asserts = ASSERTS.read(certificate.asserts, reading)
    if certificate.witness is not None:
        hints = WITNESS.read(certificate.witness, reading)
    covariance, start = task.read_task(given)
    prompts, spectrum, lengths = None, None, None
    if form == "tokens":
        if TUBE in asserts:
            raise asserts.node(TUBE).malformed("no tube: it is of all prompts of a length, not of given ones")
        for field in (SPACING, REACH, LENGTHS, RANGES):
            if hints is not None and field in hints:
                raise hints.node(field).malformed("nothing of lengths, as prompts are given")
        prompts = stated_prompts.read_regression_prompts(given, covariance.rows)
    else:
        spectrum = shared_spectrum(covariance, start.A)
        if spectrum is None:
            hint = "other starts are not covered: take a multiple of I, of Sigma or of its inverse, or 0"
            node, found = given[task.START].node(task.A), f"{given[task.START][task.A].words()}, which "
            found += "does not commute" if start.A.is_symmetric() else "is not symmetric"
            raise node.malformed("a symmetric A with A Sigma = Sigma A", found, hint)
        if hints is None or any(field not in hints for field in (LENGTHS, RANGES, SPACING)):
            node = certificate.asserts if certificate.witness is None else certificate.witness
            missing = [field.name for field in (LENGTHS, RANGES, SPACING) if hints is None or field not in hints]
            expected = "a witness with `lengths`, `ranges` and `spacing`, as lengths are stated"
            raise node.malformed(expected, f"no {' and no '.join(missing)}")
        lengths = _read_ranges(hints, given[LENGTH], asserts)
    pieces, travel = task.hinted(hints, PIECES, DEFAULT_PIECES), task.hinted(hints, TRAVEL, DEFAULT_TRAVEL)
    return StatedTransfer(given, asserts, covariance, start, prompts, spectrum, lengths, pieces, travel)


def _read_ranges(hints: Values, length: int, asserts: Values) -> Ranges:
    """All lengths from the stated one on. Raises MalformedError."""
    spacing = hints[SPACING]
    if (spacing >= LEAST_SPACING) is not True or (spacing <= 1) is not True:
        raise hints.node(SPACING).malformed(f"a number from {LEAST_SPACING} to 1")
    lengths: list[int] = hints[LENGTHS]
    for k, (x, y) in enumerate(pairwise(lengths), start=2):
        if x >= y:
            raise hints.node(LENGTHS).malformed("lengths that increase", f"{y} after {x} in place {k}")
    found, first = [], length
    listed: list[Values] = hints[RANGES]
    for k, values in enumerate(listed, start=1):
        last = values.get(UNTIL)
        _require_length(hints, first, "begins")
        if k < len(listed):
            if last is None:
                raise values.at.malformed("an end `until` of every range but the last")
            if last <= first:
                raise values.node(UNTIL).malformed(f"more than {first}, where the range begins")
            _require_length(hints, last, "ends")
            before, after = [x for x in lengths if x < first], [x for x in lengths if x > last]
            for beside, count, where in ((before, BEFORE, f"before {first}"), (after, AFTER, f"after {last}")):
                if len(beside) < count:
                    expected = f"{counted(count, 'length')} {where}, for ranges that end"
                    raise hints.node(LENGTHS).malformed(expected, ", ".join(map(str, beside)) or "none")
        elif last is not None:
            raise values.node(UNTIL).malformed("no end of the last range: every longer prompt is meant")
        stages = _read_stages(values)
        q, w = _read_sums(values[SUMS], values[ERRORS])
        found.append(Range(WeightFit(first, last, q, w), stages))
        _require_time(found[-1], values, asserts)
        first = first if last is None else last
    return Ranges(found, lengths, spacing, task.hinted(hints, REACH, DEFAULT_REACH))


def _require_length(hints: Values, length: int, does: str) -> None:
    """Raises MalformedError."""
    lengths: list[int] = hints[LENGTHS]
    if length not in lengths:
        beside = [x for x in lengths if x < length][-1:] + [x for x in lengths if x > length][:1]
        found = " and then ".join(map(str, beside))
        raise hints.node(LENGTHS).malformed(f"{length}, where a range {does}", found)


def _read_stages(values: Values) -> list[Stage]:
    """Raises MalformedError."""
    found = [Stage(values[SPAN], values[CUTS])]
    if LATER in values:
        later: Values = values[LATER]
        if later[SPAN] <= values[SPAN]:
            raise later.node(SPAN).malformed(
                f"more than {describe(values[SPAN])}, the time before", describe(later[SPAN])
            )
        found.append(Stage(later[SPAN] - values[SPAN], later[CUTS]))
    return found


def _require_time(of: Range, values: Values, asserts: Values) -> None:
    """That its stages end by the stated time, and that pieces make that up where there is a tube up to it."""
    last = values.get(LATER) or values
    if of.time > asserts[TIME]:
        raise last.node(SPAN).malformed("at most the stated time, from which on the risk is stated")
    if TUBE not in asserts:
        return
    more = of.more(asserts[TIME])
    if more.q != 1 or of.pieces + more > MOST_PIECES:
        found = f"pieces of {describe(of.stages[-1].duration)}"
        raise last.node(CUTS).malformed(
            "pieces of which some make up the stated time, up to which there is a tube", found
        )


def _read_sums(near: MatrixInput, above: MatrixInput) -> tuple[Fit, Fit]:
    """Raises MalformedError."""
    near.require_shape(None, 5, "a rate and four factors")
    above.require_shape(None, 3, "a rate and two factors")
    rows, errors = near.load().to_rows(), above.load().to_rows()
    seen: dict[fmpq, int] = {}
    for k, (rate, *_) in enumerate(rows, start=1):
        if rate > 0:
            raise near.node.malformed("rates <= 0", f"the rate {describe(rate)} in row {k}")
        if rate in seen:
            raise near.node.malformed("rates that are different", f"{describe(rate)} in rows {seen[rate]} and {k}")
        seen[rate] = k
    for k, row in enumerate(errors, start=1):
        if min(row) < 0:
            raise above.node.malformed("rates and factors >= 0", f"{describe(min(row))} in row {k}")

    def of(table: list[list[fmpq]], column: int) -> ExponentialSum:
        return ExponentialSum([(row[column], row[0]) for row in table])

    return Fit(of(rows, 1), of(rows, 2), of(errors, 1)), Fit(of(rows, 3), of(rows, 4), of(errors, 2))


# -- what proves it


def obligations(stated: StatedTransfer) -> Iterator[Obligation]:
    return _of_lengths(stated) if stated.prompts is None else _of_prompts(stated)


def _of_prompts(stated: StatedTransfer) -> Iterator[Obligation]:
    run = stated.polygon
    path = Shared(lambda: _proved(run()[1].distance))
    yield stated.at_the_start()
    yield Obligation("path", lambda: path().reached, "<", lambda: path().bound, Part.WITNESS)
    # It encloses R_L at that time: what is not at most the stated risk is above it.
    yield Obligation("risk", lambda: risk_near(*run()), "<=", stated.asserts[RISK], needs=["path"])


def _of_lengths(stated: StatedTransfer) -> Iterator[Obligation]:
    asserts, lengths, flows = stated.asserts, stated.lengths, stated.flows
    assert lengths is not None
    if stated.known_at_the_start:
        yield stated.at_the_start()
    else:
        trace = stated.covariance.trace()
        yield Obligation("infinite", lambda: _infinite_risk(stated), "<", trace, Part.WITNESS)
    yield Obligation("fits", lengths.room, ">=", fmpq(0), Part.WITNESS)
    yield Obligation(
        "path",
        lambda: _least_proved(flows()).reached,
        ">=",
        lambda: _least_proved(flows()).until,
        Part.WITNESS,
        ["fits"],
    )
    if TUBE in asserts:
        yield Obligation("tube", lambda: _distance(stated), "<=", asserts[TUBE], Part.WITNESS, ["path"])
    yield Obligation("risk", lambda: _largest_risk(flows()), "<=", asserts[RISK], Part.WITNESS, ["path"])


def _proved(distance: Distance) -> Distance:
    if distance.reached.is_finite() is not True:
        raise NoBound("no bound is found")
    return distance


def _infinite_risk(stated: StatedTransfer) -> arb:
    """2R over infinite prompts at the end of the last range's time."""
    return 2 * stated.infinite()[-1].risk()


def _largest_risk(flows: Sequence[Followable]) -> arb:
    """R_L at the end of every range's time, at most."""
    worst = arb(0)
    for each in flows:
        worst = worst.max(each.risk())
    return worst


def _distance(stated: StatedTransfer) -> arb:
    """Of the flows of every range from that over infinite prompts, at most, up to the end."""
    worst = arb(0)
    for finite, infinite in zip(stated.flows(), stated.infinite(), strict=True):
        if not finite.is_proved or not infinite.is_proved:
            return arb.nan()
        for one, other in zip(finite.pieces, infinite.pieces, strict=True):
            worst = worst.max(one.apart(other, finite.flow.counts))
    return worst


TITLE = "training on long prompts ends with a small risk, and runs beside training on infinite ones"
THEOREM = Theorem("risk-transfer", TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
