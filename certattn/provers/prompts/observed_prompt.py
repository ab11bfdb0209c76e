"""State where attention over infinite prompts of an unknown law lies, from one prompt that was observed.

The law may be any one in a stated box or ball, or with stated bounds on scores and outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.numbers import MOST_COUNT
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.balls import NORMS as NORM_OF
from certattn.kernel.mathematics.balls import row_of_balls, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.prompts.mathematics.supports import Extreme
from certattn.kernel.theorems.prompts.observed_prompt import (
    THEOREM,
    ObservedPrompt,
    StatedIntervals,
    other_p_value,
    p_value,
    read,
    read_given,
)
from certattn.provers.array_inputs import placed
from certattn.provers.commands import (
    ARRAY,
    DATA,
    QUERY_ROWS,
    SCORE_SCALE,
    Argument,
    Arrays,
    Command,
    Option,
    Whole,
    Yaml,
    pair_for,
)
from certattn.provers.doubts import rare
from certattn.provers.exact_inputs import Number, exact, exact_text, require_one_of, require_within
from certattn.provers.output import Draft, require_place, text_rows
from certattn.provers.prompt_sources import prompt_sources
from certattn.provers.prompts.observed_rule import as_array, lower_end
from certattn.provers.prompts.options import DIRECTION
from certattn.provers.prompts.tail_goals import NORMS
from certattn.provers.rounding import as_float, last_place, lower_rational, round_up, upper_rational

_BITS = 128
# How many last places an end may be moved to where doubles saw it too near.
_MOVES = 8


def generate(
    out: Path,
    *,
    source: str | Path | None = None,
    names: Mapping[str, str] | None = None,
    scale: Number = "1",
    query_rows: str | None = None,
    support: Mapping[str, Any] | None = None,
    between: Sequence[Number] | None = None,
    radius: Number | None = None,
    largest_score: Number | None = None,
    directions: Sequence[Sequence[Number]] = (),
    probability: Number = "0.05",
    norm: str | None = None,
    another: int | None = None,
    digits: int = 3,
    data: str = "auto",
    note: str = "",
    **arrays: Any,
) -> Certificate:
    """Write a certificate of `observed-prompt` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    source : path-like, optional
        .npz or .safetensors file holding `tokens` (L x d), `queries` (n x d_z) and any of `K`, `Q`, `V`, or `U` and
        `V`; or `keys`, `values` and `queries`. A .npy file holds the tokens.
    names : mapping of str to str, optional
        Names in the file that differ, as {"tokens": "x"}, or .npy files, as {"queries": "q.npy"}.
    scale : exact number
        Factor of the scores, such as "1/sqrt(64)".
    query_rows : str, optional
        "first:stop", the queries that are meant; all of them by default.
    support : mapping, optional
        Where all tokens lie, as certificates write it; or one of the three that follow.
    between : pair of exact numbers, optional
        Every coordinate of every token lies between these; with `largest_score`, every output along every direction.
    radius : exact number, optional
        The largest Euclidean norm of a token.
    largest_score : exact number, optional
        The largest score of any token at any of the queries; with `between`.
    directions : sequence of vectors of exact numbers
        Directions u of outputs; their coordinates if left out.
    probability : exact number
        With which the rule may err: 1 minus the confidence.
    norm : {"l2", "linf"}, optional
        State how far T_inf is from T_L at most, in this norm.
    another : int, optional
        State where the output over another prompt of so many tokens lies, too.
    digits : int
        Digits of half the width of an interval, to which its ends are rounded outwards.
    data : {"auto", "copy", "reference"}
        Copy the arrays beside the certificate, refer to them where they are, or whichever is possible.
    note : str
        A line for the certificate's readers, kept under `provenance`.
    **arrays : array_like
        What `source` would hold, as numpy arrays, by keyword; they are written beside the certificate.

    Returns
    -------
    Certificate
        What was written.

    Raises
    ------
    UsageError, MalformedError
        As `certattn.generate` does.

    Notes
    -----
    Everything but the tokens has to be chosen without looking at them: the intervals are the rule's, and there is
    nothing in it that is fitted.

    References
    ----------
    Waudby-Smith and Ramdas (2024), *Estimating means of bounded random variables by betting*. Statement and proof:
    docs/claims/prompts/observed-prompt.md.

    Examples
    --------
    >>> import certattn, numpy as np
    >>> tokens = np.random.default_rng(0).uniform(-1, 1, size=(1000, 2))
    >>> certificate = certattn.generate(
    ...     "observed-prompt", tokens=tokens, queries=[[1, 0]], between=(-1, 1), directions=[[1, 0]]
    ... )
    >>> float(certificate.numbers["at_least[0][0]"]), float(certificate.numbers["at_most[0][0]"])
    (0.2693, 0.3767)
    """
    require_place(out, source)
    if norm is not None:
        require_one_of(NORMS, norm, "norm")
        if directions:
            raise UsageError("norm is one of all coordinates of the output; leave out directions, or norm")
    require_within(1, 12, digits, "digits")
    if another is not None:
        require_within(1, MOST_COUNT, another, "another")
    sources = prompt_sources(source, names or {}, arrays)
    with placed(out, sources, data) as references:
        if query_rows is not None:
            references["queries"]["rows"] = query_rows
        given: dict[str, Plain] = {**references, "scale": exact_text(scale, "scale")}
        if directions:
            given["directions"] = exact(directions, "directions")
        given["probability"] = exact_text(probability, "probability")
        given["support"] = _support(support, between, radius, largest_score, references, len(directions))
        draft = Draft(THEOREM, out, given, note)
        observed = draft.read(read_given)
        _require_kept(observed)
        asserts: dict[str, Plain] = {}
        with working_precision(_BITS):
            low, high = _intervals(observed, digits)
            asserts |= {"at_least": text_rows(low), "at_most": text_rows(high)}
            if norm is not None:
                most = _distance(StatedIntervals(observed, low, high, None), norm)
                asserts["distance"] = {"norm": norm, "at_most": format_rational(round_up(most, digits))}
            if another is not None:
                low, high = _intervals(observed, digits, another)
                ends = {"at_least": text_rows(low), "at_most": text_rows(high)}
                asserts["another"] = {"length": str(another), **ends}
        return draft.write(asserts)


def _support(
    support: Mapping[str, Any] | None,
    between: Sequence[Number] | None,
    radius: Number | None,
    largest_score: Number | None,
    references: Mapping[str, Mapping[str, Any]],
    directions: int,
) -> Plain:
    """The section `support`. Raises UsageError."""
    if support is not None:
        if between is not None or radius is not None or largest_score is not None:
            raise UsageError("support says where the tokens lie; leave out between, radius and largest_score")
        return exact(dict(support), "support")
    dimension = int(references["tokens"]["shape"][1]) if "tokens" in references else None
    if between is not None and radius is None:
        if len(between) != 2:
            raise UsageError(f"between is {between!r:.60}, expected two numbers such as (-1, 1)")
        low, high = (exact_text(end, "between") for end in between)
        if largest_score is not None:
            queries, outputs = _rows(references["queries"]), directions or _output_dimension(references)
            score = exact_text(largest_score, "largest_score")
            return {"scores": [score] * queries, "low": [low] * outputs, "high": [high] * outputs}
        if dimension is not None:
            return {"tokens": {"kind": "box", "low": [low] * dimension, "high": [high] * dimension}}
    elif radius is not None and between is None and largest_score is None and dimension is not None:
        return {"tokens": {"kind": "ball", "centre": ["0"] * dimension, "radius": exact_text(radius, "radius")}}
    if dimension is None:
        raise UsageError("of keys and values, expected a support, or largest_score and between")
    raise UsageError("expected one of: a support, between, radius, or largest_score and between: where all tokens lie")


def _rows(reference: Mapping[str, Any]) -> int:
    """How many rows are meant."""
    if "rows" not in reference:
        return int(reference["shape"][0])
    first, _, stop = str(reference["rows"]).partition(":")
    return max(int(stop) - int(first), 1) if first.isdecimal() and stop.isdecimal() else 1


def _output_dimension(references: Mapping[str, Mapping[str, Any]]) -> int:
    if "V" in references:
        return int(references["V"]["shape"][0])
    return int(references["values" if "values" in references else "tokens"]["shape"][1])


def _require_kept(observed: ObservedPrompt) -> None:
    """Refuse a support that the tokens do not keep to. Raises UsageError."""
    with working_precision(_BITS):
        for name, margin in observed.support.margins:
            value = margin()
            assert isinstance(value, arb | fmpq)
            if value < 0:
                what = name.rpartition(".")[2]
                raise UsageError(
                    f"the observed {what} do not keep to the stated support (their margin is {float(arb(value)):.4g}); "
                    "expected one that is known of every possible token, not fitted to those that were seen"
                )


def _intervals(observed: ObservedPrompt, digits: int, another: int = 0) -> tuple[ExactMatrix, ExactMatrix]:
    """Both ends for every query and direction, at the working precision; of the output of another prompt."""
    outputs = [row_of_balls(row) for row in observed.outputs.to_rows()]
    low: list[list[fmpq]] = []
    high: list[list[fmpq]] = []
    for query in range(observed.prompt.count):
        weights = observed.weights(query)
        pairs = [_interval(observed, weights, each, index, digits, another) for index, each in enumerate(outputs)]
        low.append([pair[0] for pair in pairs])
        high.append([pair[1] for pair in pairs])
    return ExactMatrix.rational(low), ExactMatrix.rational(high)


def _interval(
    observed: ObservedPrompt, weights: list[arb], outputs: list[arb], direction: int, digits: int, another: int
) -> tuple[fmpq, fmpq]:
    ends = []
    chance = as_float(observed.chance)
    for sign in (1, -1):
        most = observed.support.outputs[sign][direction]
        signed = [sign * output for output in outputs]
        least = -float(arb(most.rational) + arb(most.squared).sqrt())
        ends.append((signed, most, lower_end(as_array(weights), as_array(signed), least, chance, another)))
    half = max((-ends[1][2] - ends[0][2]) / 2, 1e-300)
    unit = last_place(fmpq(*half.as_integer_ratio()), digits)
    low, high = (_excluding(observed, weights, *end, unit, another) for end in ends)
    return low, -high


def _excluding(
    observed: ObservedPrompt,
    weights: list[arb],
    outputs: list[arb],
    most: Extreme,
    end: float,
    unit: fmpq,
    another: int,
) -> fmpq:
    """A multiple of the unit that the kernel's rule excludes everything below of, at or below the end found."""
    stated = (fmpq(*end.as_integer_ratio()) / unit).floor() * unit
    for _ in range(_MOVES):
        share = observed.chance / 2 if another else observed.chance
        if another:
            found = other_p_value(weights, outputs, stated, most, another, share)
        else:
            found = p_value(weights, outputs, stated, most)
        if found <= share:
            return stated
        stated -= unit
    # No output lies below this.
    least = lower_rational(-(arb(most.rational) + arb(most.squared).sqrt()))
    return (least / unit).floor() * unit


def _distance(stated: StatedIntervals, norm: str) -> fmpq:
    """The largest norm of T_inf - T_L that the intervals allow at a query."""
    outputs = [row_of_balls(row) for row in stated.given.outputs.to_rows()]
    queries = range(stated.given.prompt.count)
    return max(
        upper_rational(NORM_OF[norm](stated.gaps(query, stated.given.weights(query), outputs))) for query in queries
    )


def _widths(certificate: Certificate, inputs: Mapping[str, Any]) -> str:
    """How wide the intervals are."""
    stated = read(certificate)
    halves = [as_float(x) / 2 for row in (stated.at_most - stated.at_least).to_rows() for x in row]
    joint = "" if len(halves) == 1 else f", {len(halves)} intervals at once"
    return f"half-width {min(halves):.3g}" + (f" to {max(halves):.3g}{joint}" if joint else "")


COMMAND = Command(
    Argument("PROMPT", Arrays()),
    Option("--support", "A file that says where all tokens lie.", Yaml("given.support"), "FILE"),
    Option(
        "--between",
        "Every coordinate of every token lies between these; with --largest-score, every output.",
        metavar="'LOW, HIGH'",
        parse=pair_for("--between", "two numbers such as '-1, 1'"),
    ),
    Option("--radius", "The largest Euclidean norm of a token.", metavar="R"),
    Option("--largest-score", "The largest score of any token at any query.", metavar="S"),
    SCORE_SCALE,
    QUERY_ROWS,
    DIRECTION,
    Option("--probability", "With which the rule may err: 1 minus the confidence.", metavar="DELTA"),
    Option("--norm", "State how far T_inf is from the observed output at most, in this norm.", NORMS),
    Option("--another", "State where the output over another prompt of so many tokens lies, too.", int, "L"),
    Option("--digits", "Digits of half the width of an interval.", Whole(1, 12)),
    ARRAY,
    DATA,
    inputs=lambda options: {**options, "support": _section(options["support"])},
    finding=_widths,
    doubts=[rare],
)


def _section(support: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return None if support is None else support.get("support", support)
