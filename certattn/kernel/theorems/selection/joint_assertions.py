"""What `joint-max-margin` states of the regularisation path: bounds at stated norms, and how each is proved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Shared
from certattn.kernel.document.matrices import MatrixInput, Vector
from certattn.kernel.document.schema import Choice, Count, Field, Listing, Rational, Record, Values
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.mathematics.joint_path import JointPath
from certattn.kernel.theorems.selection.mathematics.label_margin import LabelMargin
from certattn.kernel.theorems.selection.mathematics.max_margin import MaxMargin

HEAD_NORM = Field("head_norm", Rational(above=0), "r: the loss is minimised over |v| <= r")
ATTENTION_NORM = Field("attention_norm", Rational(above=0), "R: and over |p| <= R")
HEAD_COSINE = Field("head_cosine", Rational(above=0), "the cosine of the angle of v and v_mm, at least", False)
ATTENTION_COSINE = Field("attention_cosine", Rational(above=0), "the same of p and p_mm", False)
MASS = Field(
    "mass", Rational(above=0), "the softmax weight of the chosen token of every support input, at least", False
)
LOSS = Field("loss", Choice(("logistic", "exponential")), "the loss of Y f(X): log(1 + e^-x) or e^-x")
NORMS = Listing(Record(HEAD_NORM, ATTENTION_NORM, HEAD_COSINE, ATTENTION_COSINE, MASS))
AT = Field("at", NORMS, "pairs of norms, with what is bounded there")
PATH = Field("path", Record(LOSS, AT), "bounds for every minimiser at stated norms", required=False)

ENTRY = Field("entry", Count(0), "the entry of path.at, counted from 0")
HEAD = Field("head", Vector(), "a head v of norm r or less; r v_mm/|v_mm| if left out", required=False)
ATTENTION = Field("attention", Vector(), "an attention p of norm R or less; R p_mm/|p_mm| if left out", required=False)
COMPARATORS = Field(
    "comparators", Listing(Record(ENTRY, HEAD, ATTENTION)), "what minimisers are compared with", required=False
)

_BOUNDS: dict[str, Callable[[JointPath], arb]] = {
    "head_cosine": lambda path: path.cosine,
    "attention_cosine": JointPath.attention_cosine,
    "mass": JointPath.mass,
}


@dataclass(frozen=True)
class StatedPath:
    """What is said at one pair of norms (r, R), by field; and the comparators of the witness."""

    loss: str
    norms: tuple[fmpq, fmpq]
    bounds: dict[str, fmpq]
    head: ExactMatrix | None = None
    attention: ExactMatrix | None = None

    def obligations(
        self, prefix: str, head: LabelMargin, attention: MaxMargin, *, outside: bool, needs: Sequence[str]
    ) -> Iterator[Obligation]:
        """The bounds and their conditions; the solutions and a positive nu are proved elsewhere.

        `outside`: whether multipliers stand outside the support inputs.
        """
        part = Part.WITNESS
        path = Shared(lambda: JointPath(head, attention, self.loss, self.norms, self.head, self.attention))
        for what, stated, norm in zip(("head", "attention"), (self.head, self.attention), self.norms, strict=True):
            if stated is not None:
                size = (stated @ stated.T).entry(0, 0)
                yield Obligation(f"{prefix}.comparator_{what}", size, "<=", norm * norm, part, needs)
        yield Obligation(f"{prefix}.unattended", lambda: path().unattended, "<", fmpq(1), part, needs)
        yield Obligation(f"{prefix}.alignment", lambda: path().cosine, ">", fmpq(0), part, needs)
        if outside and "attention_cosine" in self.bounds:
            yield Obligation(f"{prefix}.outside", lambda: _least_room(path()), ">", fmpq(0), part, needs)
        for name, bound in self.bounds.items():
            yield Obligation(f"{prefix}.{name}", _bound(name, path), ">=", bound, part, needs)


def _bound(name: str, path: Shared[JointPath]) -> Callable[[], arb]:
    return lambda: _BOUNDS[name](path())


def _least_room(path: JointPath) -> arb:
    """How far other tokens alone leave inputs outside the support short of their margin, over r."""
    least, *others = [path.room(i) for i in path.outside]
    for room in others:
        least = least.min(room)
    return least


def read_path(stated: Values | None, witness: Values | None, dimensions: tuple[int, int]) -> list[StatedPath]:
    """The bounds of `path`; `dimensions` are those of v and p. Raises MalformedError."""
    comparators = witness.get(COMPARATORS) if witness is not None else None
    if stated is None:
        if comparators:
            raise comparators[0].at.malformed("no comparators where nothing is asserted of the path")
        return []
    entries = stated[AT]
    by_entry = _read_comparators(comparators or [], len(entries), dimensions)
    found = []
    for index, entry in enumerate(entries):
        bounds = {field.name: entry[field] for field in (HEAD_COSINE, ATTENTION_COSINE, MASS) if field in entry}
        if not bounds:
            raise entry.at.malformed("head_cosine, attention_cosine or mass", "nothing that is asserted")
        head, attention = by_entry.get(index, (None, None))
        norms = (entry[HEAD_NORM], entry[ATTENTION_NORM])
        found.append(StatedPath(stated[LOSS], norms, bounds, head, attention))
    return found


def _read_comparators(
    stated: list[Values], entries: int, dimensions: tuple[int, int]
) -> dict[int, tuple[ExactMatrix | None, ExactMatrix | None]]:
    found: dict[int, tuple[ExactMatrix | None, ExactMatrix | None]] = {}
    for values in stated:
        index = values[ENTRY]
        if index >= entries:
            raise values.node(ENTRY).malformed(f"an entry of path.at, which has {entries}, counted from 0", f"{index}")
        if index in found:
            raise values.at.malformed("every entry at most once", f"the entry {index} again")
        if HEAD not in values and ATTENTION not in values:
            raise values.at.malformed("head or attention", "no comparator")
        head, attention = values.get(HEAD), values.get(ATTENTION)
        found[index] = (_vector(head, dimensions[0], "a token"), _vector(attention, dimensions[1], "a key"))
    return found


def _vector(stated: MatrixInput | None, length: int, what: str) -> ExactMatrix | None:
    if stated is None:
        return None
    stated.require_length(length, what)
    return stated.load()
