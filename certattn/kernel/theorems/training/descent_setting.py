"""How a certificate states two descents from one start: on the loss of concrete prompts, and of infinite ones.

model: regression   tokens x_i with labels y_i and scores <x_i, A x>; values b y_i; the infinite side is R(A, b) over
                    all tasks, or with `tasks` w_n the loss of the N tasks with infinite prompts
model: attention    scores <z_i, U q> and values V z_i; the infinite side has the law of the tokens for each prompt
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.document.matrices import Matrix
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Count, Field, Listing, Rational, Record, Values, Variant
from certattn.kernel.given.attention import LAW, StatedLaw
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.spectrum import largest_eigenvalue
from certattn.kernel.theorems.training.context_inputs import (
    LABELS,
    LENGTHS,
    QUERIES,
    TARGETS,
    TOKENS,
    StatedPrompts,
    read_attention_prompts,
    read_regression_prompts,
)
from certattn.kernel.theorems.training.mathematics.context_losses import ContextLoss, Loss, Trained, balls_of, tasks_of
from certattn.kernel.theorems.training.mathematics.infinite_contexts import LawContext, PopulationLoss, TaskContext
from certattn.kernel.theorems.training.regression_inputs import (
    COVARIANCE,
    START,
    A,
    B,
    read_covariance,
    regression_of_balls,
)

STEP = Field("step", Rational(above=0), "the step eta of both descents")
STEPS = Field("steps", Count(1), "K, the number of steps")
TASKS = Field(
    "tasks", Matrix(), "w_n of each prompt, one per row; left out, infinite prompts are of all tasks", required=False
)
U = Field("U", Matrix(), "the matrix U of the scores <z_i, U q>")
V = Field("V", Matrix(), "the matrix V of the values V z_i")
WEIGHTS = Record(U, V)
WEIGHTS_START = Field("start", WEIGHTS, "where both descents start")
LAWS = Field("laws", Listing(LAW), "law of the tokens of infinite prompts: one for all prompts, or one for each")

_SHARED = (STEP, STEPS, TOKENS, LENGTHS, QUERIES, TARGETS)
REGRESSION, ATTENTION = "regression", "attention"
GIVEN = Variant(
    "model",
    {
        REGRESSION: Record(COVARIANCE, TASKS, START, LABELS, *_SHARED),
        ATTENTION: Record(LAWS, WEIGHTS_START, *_SHARED),
    },
)

# So many steps take hours where prompts are short.
MOST_STEPS = 100_000


@dataclass(frozen=True)
class ExactWeights:
    """The trained weights as exact numbers: U and V, which for regression are A and (b)."""

    model: str
    U: ExactMatrix
    V: ExactMatrix

    @property
    def names(self) -> tuple[str, str]:
        return ("A", "b") if self.model == REGRESSION else ("U", "V")

    @property
    def shapes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        return self.U.shape, self.V.shape

    def balls(self) -> Trained:
        """At the working precision."""
        return Trained.around(self.U, self.V)


@dataclass(frozen=True)
class Setting:
    """Both descents, exactly; `infinite` makes the loss of infinite prompts at the working precision `bits`."""

    model: str
    given: Values
    prompts: StatedPrompts
    infinite: Callable[[int], Loss]
    start: ExactWeights
    step: fmpq
    steps: int


def read_setting(model: str, values: Values) -> Setting:
    """The section `given`; every dimension checked. Raises MalformedError."""
    if values[STEPS] > MOST_STEPS:
        raise values.node(STEPS).malformed(f"at most {MOST_STEPS} steps", counted(values[STEPS], "step"))
    return _regression(values) if model == REGRESSION else _attention(values)


def read_weights(model: str, values: Values) -> ExactWeights:
    """A and b, or U and V."""
    if model == REGRESSION:
        return ExactWeights(model, values[A].load(), ExactMatrix.row_vector([values[B]]))
    return ExactWeights(model, values[U].load(), values[V].load())


def _regression(values: Values) -> Setting:
    covariance = read_covariance(values[COVARIANCE])
    size = covariance.rows
    values[START][A].require_shape(size, size, "like the covariance")
    prompts = read_regression_prompts(values, size)
    tasks = values.get(TASKS)
    loss: Callable[[int], Loss] = lambda bits: _population(covariance, bits)  # noqa: E731
    if tasks is not None:
        tasks.require_shape(prompts.count, size, "(a task per query)")
        loss = lambda _: _of_tasks(covariance, tasks.load(), prompts)  # noqa: E731
    return Setting(
        REGRESSION, values, prompts, loss, read_weights(REGRESSION, values[START]), values[STEP], values[STEPS]
    )


def _attention(values: Values) -> Setting:
    laws, start = values[LAWS], values[WEIGHTS_START]
    size = laws[0].dimension
    for law in laws:
        if law.dimension != size:
            raise law.node.malformed(f"dimension {size}, like the first law", f"{law.dimension}")
    start[U].require_shape(size, None, "like the law of the tokens")
    start[V].require_shape(None, size, "like the law of the tokens")
    prompts = read_attention_prompts(values, size, start[U].shape[1], start[V].shape[0])
    if len(laws) not in (1, prompts.count):
        expected = f"one law, or one for each of {counted(prompts.count, 'prompt')}"
        raise values.node(LAWS).malformed(expected, counted(len(laws), "law"))
    return Setting(
        ATTENTION,
        values,
        prompts,
        lambda _: _of_laws(laws, prompts),
        read_weights(ATTENTION, start),
        values[STEP],
        values[STEPS],
    )


def _population(covariance: ExactMatrix, bits: int) -> Loss:
    return PopulationLoss(regression_of_balls(covariance), largest_eigenvalue(balls_of(covariance), bits))


def _of_tasks(covariance: ExactMatrix, tasks: ExactMatrix, prompts: StatedPrompts) -> Loss:
    slopes = tasks @ covariance
    contexts = [TaskContext(balls_of(slopes.take_rows([n]))) for n in range(prompts.count)]
    return ContextLoss(contexts, tasks_of(prompts.exact_queries, prompts.exact_targets))


def _of_laws(laws: list[StatedLaw], prompts: StatedPrompts) -> Loss:
    contexts = [LawContext(law.law.map(arb)) for law in laws]
    each = contexts if len(contexts) == prompts.count else contexts * prompts.count
    return ContextLoss(each, tasks_of(prompts.exact_queries, prompts.exact_targets))
