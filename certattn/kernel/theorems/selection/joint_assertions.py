"""What `joint-max-margin` states of the regularisation path: bounds at stated norms, and how each is proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.verdict import Obligation, Part, above, at_least, at_most, below, unproved
from certattn.kernel.document.fields import Choice, Count, Field, Listing, Rational, Record, Values
from certattn.kernel.document.matrices import MatrixInput, Vector
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
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

_SENTENCES = {
    "head_cosine": "every minimiser's v has at least this cosine with v_mm",
    "attention_cosine": "every minimiser's p has at least this cosine with p_mm",
    "mass": "every minimiser gives the chosen token of every support input at least this softmax weight",
}
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

    def words(self) -> str:
        r, R = self.norms
        shown = {
            "head_cosine": "cos(v, v_mm) >= ",
            "attention_cosine": "cos(p, p_mm) >= ",
            "mass": "the chosen token of every support input has softmax weight >= ",
        }
        said = [shown[name] + describe(bound) for name, bound in self.bounds.items()]
        return f"for |v| <= {describe(r)} and |p| <= {describe(R)}, {', '.join(said)}"

    def names(self, prefix: str, outside: bool) -> list[str]:
        """The obligations of `obligations`. `outside`: whether multipliers stand outside the support inputs."""
        found = [f"{prefix}.comparator_{what}" for what, stated in self._comparators() if stated is not None]
        found += [f"{prefix}.unattended", f"{prefix}.alignment"]
        if outside and "attention_cosine" in self.bounds:
            found.append(f"{prefix}.outside")
        return found + [f"{prefix}.{name}" for name in self.bounds]

    def obligations(self, prefix: str, head: LabelMargin, attention: MaxMargin, bits: int) -> list[Obligation]:
        """The bounds and their conditions; the solutions and a positive nu are proved elsewhere."""
        witness = Part.WITNESS
        found = []
        for (what, stated), norm in zip(self._comparators(), self.norms, strict=True):
            if stated is not None:
                size = (stated @ stated.T).entry(0, 0)
                sentence = f"the squared norm of the comparator's {what} is at most the square of its bound"
                found.append(at_most(f"{prefix}.comparator_{what}", sentence, size, norm * norm, part=witness))
        path = JointPath(head, attention, self.loss, self.norms, self.head, self.attention)
        sentence = "what support inputs spend on other tokens is at most this, below 1"
        found.append(below(f"{prefix}.unattended", sentence, path.unattended, fmpq(1), bits, part=witness))
        sentence = "every minimiser's v has a product with v_mm/|v_mm| of at least r times this, above 0"
        found.append(above(f"{prefix}.alignment", sentence, path.cosine, fmpq(0), bits, part=witness))
        if path.outside and "attention_cosine" in self.bounds:
            least = path.room(path.outside[0])
            for i in path.outside[1:]:
                least = least.min(path.room(i))
            sentence = "other tokens alone leave inputs outside the support short of their margin, over r, by at least"
            found.append(above(f"{prefix}.outside", sentence, least, fmpq(0), bits, part=witness))
        for name, bound in self.bounds.items():
            value = _BOUNDS[name](path)
            found.append(at_least(f"{prefix}.{name}", _SENTENCES[name], value, bound, bits, part=witness))
        return found

    def unproved(self, prefix: str, outside: bool) -> list[Obligation]:
        """The same names, where the solutions that they rest on are not proved."""
        reason = "v_mm, its support or p_mm is not proved"
        sentence = "rests on v_mm, its support inputs and p_mm"
        return [unproved(name, sentence, reason) for name in self.names(prefix, outside)]

    def _comparators(self) -> list[tuple[str, ExactMatrix | None]]:
        return [("head", self.head), ("attention", self.attention)]


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
