"""What `linearization` asserts: the fields, the quantities that they bound, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from certattn.kernel.document.fields import Field, Record, Values
from certattn.kernel.given.ranges import NONNEGATIVE, Range, read_range
from certattn.kernel.mathematics.linearization import ATTENTION, STAGES
from certattn.kernel.theorems.spectrum.linearization_inputs import Attention

# Stages as words and formulas.
MATRICES: Mapping[str, tuple[str, str]] = {
    "attention": ("M", "M"),
    "scores": ("T Pi", r"T\Pi"),
    "linear": ("L", "L"),
    "attention_less_scores": ("M - T Pi", r"M - T\Pi"),
    "scores_less_linear": ("T Pi - L", r"T\Pi - L"),
    "attention_less_linear": ("M - L", "M - L"),
}

NORM = Field("norm", NONNEGATIVE, "bounds of the spectral norm", required=False)
DISTANCE = Field(
    "distance",
    NONNEGATIVE,
    "bounds of the Kolmogorov distance to the quarter circle law of variance alpha^2",
    required=False,
)
LARGEST = Field("largest", NONNEGATIVE, "bounds of max_i |tbar_i|", required=False)
DIFFERENCE = Field("difference", NONNEGATIVE, "bounds of the spectral norm |M - T Pi|", required=False)
BOUND = Field("bound", NONNEGATIVE, "bounds of max_i |tbar_i| |M|, which is at least that", required=False)
WASSERSTEIN = Field("wasserstein", NONNEGATIVE, "bounds of W_2 of the singular values of M and of T Pi", required=False)
FROBENIUS = Field("frobenius", NONNEGATIVE, "bounds of the Frobenius norm", required=False)
RELATIVE_NORM = Field("relative_norm", NONNEGATIVE, "bounds of the spectral norm over that of M", required=False)
RELATIVE_FROBENIUS = Field(
    "relative_frobenius", NONNEGATIVE, "bounds of the Frobenius norm over that of M", required=False
)

_OWN = (NORM, FROBENIUS)
_SIZES = (*_OWN, RELATIVE_NORM, RELATIVE_FROBENIUS)
# Nothing is said of M relative to itself.
_SIZES_OF = {name: _OWN if name == ATTENTION else _SIZES for name in MATRICES}
_STAGES = [
    Field(name, Record(*_SIZES_OF[name]), f"sizes of {words}", required=False) for name, (words, _) in MATRICES.items()
]
REMAINDER = Field("remainder", Record(NORM, DISTANCE), "N = M - L: its norm, its singular values", required=False)
NORMALISER = Field(
    "normaliser", Record(LARGEST, DIFFERENCE, BOUND, WASSERSTEIN), "what the normaliser changes", required=False
)
STAGES_FIELD = Field("stages", Record(*_STAGES), "sizes of the stages and of their differences", required=False)
GROUPS = (REMAINDER, NORMALISER, STAGES_FIELD)
ASSERTS = Record(*GROUPS)

# What obligations say of a size of a matrix X.
SIZES: Mapping[str, str] = {
    "norm": "|{}|",
    "frobenius": "|{}|_F",
    "relative_norm": "|{}|/|M|",
    "relative_frobenius": "|{}|_F/|M|_F",
}


@dataclass(frozen=True)
class Quantity:
    """What is bounded: `kind` of a matrix among the stages, or of all of them where `stage` is empty."""

    kind: str
    stage: str = ""

    @property
    def needs_beta(self) -> bool:
        """Whether it is about the quarter circle or about T."""
        return self.kind in _OF_BETA or (self.stage != "" and STAGES[self.stage].slope != 0)

    @property
    def is_relative(self) -> bool:
        """Whether it is divided by a norm of M."""
        return self.kind.startswith("relative")


_OF_BETA = (DISTANCE.name, LARGEST.name, BOUND.name, WASSERSTEIN.name)
# By the names that obligations have, in their order.
QUANTITIES: Mapping[str, Quantity] = {
    "remainder.norm": Quantity("norm", "attention_less_linear"),
    "remainder.distance": Quantity("distance"),
    "normaliser.largest": Quantity("largest"),
    "normaliser.difference": Quantity("norm", "attention_less_scores"),
    "normaliser.bound": Quantity("bound"),
    "normaliser.wasserstein": Quantity("wasserstein"),
    **{
        f"stages.{name}.{field.name}": Quantity(field.name, name)
        for name, fields in _SIZES_OF.items()
        for field in fields
    },
}


def sentence(quantity: Quantity) -> str:
    """The left side of an obligation, in words."""
    if quantity.stage:
        return SIZES[quantity.kind].format(MATRICES[quantity.stage][0])
    return {
        "distance": "sup_x |F_N(x) - F(x)|",
        "largest": "max_i |tbar_i|",
        "bound": "max_i |tbar_i| |M|",
        "wasserstein": "W_2(M, T Pi)",
    }[quantity.kind]


Asserted = Mapping[str, Range]


def read_asserted(asserts: Values, attention: Attention) -> Asserted:
    """Bounds by the names of QUANTITIES. Raises MalformedError."""
    if not any(group in asserts for group in GROUPS):
        raise asserts.at.malformed(" or ".join(ASSERTS.fields), "nothing that is asserted")
    found: dict[str, Range] = {}
    for group in GROUPS:
        if group in asserts:
            found |= _read_group(group.name, asserts[group], attention)
    return {name: found[name] for name in QUANTITIES if name in found}


def _read_group(name: str, values: Values, attention: Attention) -> dict[str, Range]:
    """Bounds of a group, or of the stages in it."""
    record = values.at
    assert isinstance(record.value, dict)
    if len(record.value) == 0:
        raise record.malformed("at least one number that is bounded", "none")
    found: dict[str, Range] = {}
    for key in record.value:
        inner = f"{name}.{key}"
        field = _FIELDS[inner]
        if inner in QUANTITIES:
            if QUANTITIES[inner].needs_beta and attention.temperature is None:
                expected = "beta in given, which this is about"
                raise values.node(field).malformed(expected, f"{inner} and no given.beta")
            found[inner] = read_range(values[field])
        else:
            found |= _read_group(inner, values[field], attention)
    return found


_FIELDS: Mapping[str, Field[Values]] = {
    **{f"remainder.{field.name}": field for field in (NORM, DISTANCE)},
    **{f"normaliser.{field.name}": field for field in (LARGEST, DIFFERENCE, BOUND, WASSERSTEIN)},
    **{f"stages.{stage.name}": stage for stage in _STAGES},
    **{f"stages.{stage.name}.{field.name}": field for stage in _STAGES for field in _SIZES_OF[stage.name]},
}
