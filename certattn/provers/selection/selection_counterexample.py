"""State that a gradient descent misses the best tokens of inputs whose other scores are all equal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flint import fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.mathematics.token_selection import Selection, best_tokens, largest_spread
from certattn.kernel.theorems.selection.mathematics.selection_constants import ENCLOSED, GRADIENT
from certattn.kernel.theorems.selection.selection_counterexample import THEOREM, smoothness_bound
from certattn.provers.commands import Argument, Command, Yaml, token_indices
from certattn.provers.exact_inputs import exact
from certattn.provers.output import Draft, require_proved
from certattn.provers.rounding import lower_rational, round_down, round_up, upper_rational
from certattn.provers.selection.selection_direction import (
    SEARCH_BITS,
    STEP_OPTIONS,
    STEPS,
    Run,
    Search,
    Setting,
    max_margin_point,
    read_setting,
    stated,
)
from certattn.provers.selection.token_optimality import multiplier_table

_DIGITS = 4


def generate(
    out: Path,
    *,
    given: dict[str, Plain],
    indices: Sequence[int] | None = None,
    steps: int | None = None,
    most_steps: int = STEPS,
    smoothness: bool = True,
    note: str = "",
) -> Certificate:
    """Write a certificate of `selection-counterexample` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: keys with scores and
        possibly `queries`, or tokens with `v`; `loss`, `descent`, `start`.
    indices : sequence of int, optional
        The tokens that descent selects; found if left out.
    steps : int, optional
        After how many steps the theorem is applied; found if left out.
    most_steps : int
        How many steps are tried.
    smoothness : bool
        Whether to state that the step is at most 1/L_p, where it is.
    note : str
        A line for the certificate's readers, kept under `provenance`.

    Returns
    -------
    Certificate
        What was written.

    Raises
    ------
    UsageError, MalformedError
        As `certattn.generate` does.
    NotProvedError
        This is no counterexample, with the reason.

    References
    ----------
    Ataee Tarzanagh, Li, Zhang and Oymak (2023), *Max-Margin Token Selection in Attention Mechanism*, arXiv:2306.13596.
    Statement and proof: docs/claims/selection/selection-counterexample.md.

    Examples
    --------
    >>> import certattn
    >>> keys, scores = [[[-3, 1], [0, 0]], [[1, 0], [0, 0]]], [[1, 0], [1, 0]]
    >>> descent = {"rule": "gradient", "step": "1/60"}
    >>> certificate = certattn.generate(
    ...     "selection-counterexample", keys=keys, scores=scores, loss="linear", descent=descent, start=[3, 0]
    ... )
    >>> float(certificate.numbers["apart"])
    0.7574
    """
    draft = Draft(THEOREM, out, exact(given, "given"), note)
    setting = draft.read(read_setting)
    best = _best(setting)
    with working_precision(SEARCH_BITS[0]):
        solution = max_margin_point(best, setting.loss)
        search = Search(setting, tuple(indices) if indices is not None else None, None)
        run, choice = search.find(0, steps, most_steps)
        if run.selection.indices == best.indices:
            raise NotProvedError("this descent converges in the direction of the best tokens: no counterexample")
        product = (solution.solution @ run.solution.solution.T).entry(0, 0)
        apart = lower_rational(1 - product * solution.margin() * run.solution.margin())
        smooth = _smoothness(run) if smoothness else None
    asserts, witness = stated(run, choice, limit=True)
    asserts["apart"] = format_rational(round_down(apart, _DIGITS))
    if smooth is not None:
        asserts["smoothness"] = format_rational(smooth)
    witness["best_multipliers"] = multiplier_table(best, solution.multipliers)
    draft.read(require_proved, asserts, witness)
    return draft.write(asserts, witness)


def _best(setting: Setting) -> Selection:
    """The best tokens, where this is an instance that the claim is about."""
    tokens, best = setting.stated.tokens, best_tokens(setting.stated.tokens)
    if setting.rule.kind != GRADIENT or setting.start.kind != ENCLOSED:
        raise UsageError("a counterexample needs gradient descent from a point, or from every point of a box")
    for i, found in enumerate(best):
        if len(found) > 1:
            raise UsageError(f"tokens {found} of input {i} have the same score, the largest: none of them is the best")
    selection = Selection(tokens, tuple(found[0] for found in best))
    if not selection.pairs:
        raise UsageError("every input has a single token: there is nothing to select from")
    if largest_spread(selection) > 0:
        raise UsageError("the scores of the tokens that are not best must be equal within every input")
    return selection


def _smoothness(run: Run) -> fmpq | None:
    """A short number between the paper's L_p and 1/eta; None where there is none."""
    eta = run.setting.rule.step
    bound = upper_rational(smoothness_bound(run.setting.stated, run.setting.loss))
    assert eta is not None
    short = round_up(bound, _DIGITS)
    return next((number for number in (short, 1 / eta) if bound <= number <= 1 / eta), None)


COMMAND = Command(
    Argument("DESCENT", Yaml("given")),
    token_indices("The tokens that the descent selects, one of each input, counted from 0; found if left out."),
    *STEP_OPTIONS,
)
