"""State which token a head selects at each query, by what margin, and with what softmax weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import scale_ball, working_precision
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.selection.selection_on_a_head import (
    BEST,
    EXPOSURE,
    MARGIN,
    RANK,
    SELECTED,
    SEPARABILITY,
    THEOREM,
    WEIGHT,
    ChosenTokens,
    Head,
    HeadStatement,
    read_head,
)
from certattn.provers.array_inputs import placed
from certattn.provers.commands import ARRAY, DATA, HEAD, QUERY_ROWS, Argument, Arrays, Command, Option, entries, to_plot
from certattn.provers.exact_inputs import Number, exact, exact_text
from certattn.provers.one_head import WhichHead
from certattn.provers.output import Draft, require_place, text_rows, texts
from certattn.provers.prompt_sources import prompt_sources
from certattn.provers.rounding import lower_rational, round_down, round_up, upper_rational
from certattn.provers.selection.head_margins import Bounds, bounds

VALUE_NORM = "value-norm"
_BITS = 64
_DIGITS = 4


def generate(
    out: Path,
    *,
    source: str | Path | None = None,
    names: Mapping[str, str] | None = None,
    head: WhichHead = None,
    given: Mapping[str, Plain] | None = None,
    scale: str = "1",
    query_rows: str | None = None,
    causal: int | None = None,
    score: str | Sequence[Number] | None = None,
    separability: Sequence[str] = (),
    exposure: Sequence[int] = (),
    gap: float = 0.05,
    per_query: bool = False,
    data: str = "auto",
    note: str = "",
    **arrays: Any,
) -> Certificate:
    """Write a certificate of `selection-on-a-head` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    source : path-like, optional
        .npz or .safetensors file holding `keys`, `values`, `queries` (L x d_k, L x d_v, n x d_k), or `tokens` (L x d),
        `queries` (n x d_z) and any of `K`, `Q`, `V`, or `U` and `V`.
    names : mapping of str to str, optional
        Names in the file that differ, as {"keys": "attn.k"}.
    head : int or str, optional
        Which head is meant, counted from 0, where arrays have three axes, heads first; "0,2" is head 2 of batch 0.
    given : mapping, optional
        Instead of arrays, `scale`, `query_rows`, `causal` and `score`: what the certificate is about, whole.
    scale : exact number
        Factor of the scores, such as "1/sqrt(64)".
    query_rows : str, optional
        "first:stop", the queries that are meant; all of them by default.
    causal : int, optional
        How many of the first tokens the first query sees, at least 2; every further query sees one more. All queries
        see all tokens by default.
    score : str or vector of exact numbers, optional
        What tokens are worth: "value-norm", or a direction of the values as a list of exact numbers.
    separability : sequence of str
        "selected", and "best" where there is a score: whether and how clearly one matrix selects them.
    exposure : sequence of int
        Tokens, counted from 0: whether and how clearly any query selects them.
    gap : float
        How far the two bounds of a largest margin may be apart, as a part of it.
    per_query : bool
        State margins and weights of each query.
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
    NotProvedError
        No token is selected alone.

    References
    ----------
    Ataee Tarzanagh, Li, Zhang and Oymak (2023), *Max-Margin Token Selection in Attention Mechanism*, arXiv:2306.13596.
    Statement and proof: docs/claims/selection/selection-on-a-head.md.

    Examples
    --------
    >>> import certattn
    >>> arrays = dict(keys=[[0, 1], [1, 0], [0, 0]], values=[[1], [2], [0]], queries=[[1, 0.5]])
    >>> certificate = certattn.generate("selection-on-a-head", **arrays)
    >>> float(certificate.numbers["weight.at_least"])
    0.5064
    """
    require_place(out, source)
    if not 0 < gap < 1:
        raise UsageError(f"gap is {gap}, expected a number between 0 and 1")
    stated: dict[str, Plain] = {} if causal is None else {"causal": str(causal)}
    if score is not None:
        stated["score"] = _score(score)
    wanted = _Wanted(separability, exposure, gap, per_query)
    if given is not None:
        if (
            source is not None
            or names
            or arrays
            or head is not None
            or scale != "1"
            or query_rows is not None
            or stated
        ):
            raise UsageError("with a whole head, leave out everything else that certificates write under given")
        return _write(out, dict(given), wanted, note)
    with placed(out, prompt_sources(source, names or {}, arrays, head), data) as references:
        if query_rows is not None:
            references["queries"]["rows"] = query_rows
        return _write(out, {**references, "scale": exact_text(scale, "scale"), **stated}, wanted, note)


class _Wanted:
    """What to state beside the selected tokens."""

    def __init__(self, separability: Sequence[str], exposure: Sequence[int], gap: float, per_query: bool) -> None:
        for of in separability:
            if of not in (SELECTED.name, BEST.name):
                raise UsageError(f"separability of {of!r}, expected 'selected' or 'best'")
        self.separability = list(dict.fromkeys(separability))
        self.exposure = list(dict.fromkeys(exposure))
        self.gap, self.per_query = gap, per_query


def _score(score: str | Sequence[Number]) -> dict[str, Plain]:
    if isinstance(score, str):
        if score != VALUE_NORM:
            raise UsageError(f"score is {score!r}, expected {VALUE_NORM!r} or a direction as a list of numbers")
        return {"kind": VALUE_NORM}
    return {"kind": "direction", "v": exact(list(score), "score")}


def _write(out: Path, given: dict[str, Plain], wanted: _Wanted, note: str) -> Certificate:
    draft = Draft(THEOREM, out, given, note)
    head = draft.read(read_head)
    with working_precision(_BITS):
        problem = HeadStatement(head, _selected(head), {}, None, _best(head), {})
        asserts = _at_queries(problem, wanted.per_query)
        witness = _add_margins(problem, wanted, asserts)
    return draft.write(asserts, witness)


# -- at the queries


def _selected(head: Head) -> tuple[int, ...]:
    """The token of the largest logit at each query. Raises NotProvedError where two share it."""
    prompt = head.prompt
    anything = ChosenTokens(prompt.exact.keys, prompt.stated_queries, (0,) * prompt.count, head.seen)
    found = []
    for i, row in enumerate(anything.gaps(head.own_map).products):
        seen = row[: head.seen[i]]
        largest = max(seen)
        tokens = [t for t, product in enumerate(seen) if product == largest]
        if len(tokens) > 1:
            raise NotProvedError(f"tokens {tokens[0]} and {tokens[1]} share the largest logit at query {i}")
        found += tokens
    return tuple(found)


def _best(head: Head) -> tuple[int, ...] | None:
    """The token of the largest score at each query; None where there is no score, or two share the largest."""
    if head.score is None:
        return None
    found = []
    for seen in head.seen:
        scores = head.scores[:seen]
        largest = max(scores)
        tokens = [t for t, score in enumerate(scores) if score == largest]
        if len(tokens) > 1:
            return None
        found += tokens
    return tuple(found)


def _at_queries(problem: HeadStatement, per_query: bool) -> dict[str, Plain]:
    """The assertions about queries."""
    head, queries = problem.head, range(problem.head.prompt.count)
    scale = abs(scale_ball(head.prompt.scale))
    margins = [_margin(problem, i) for i in queries]
    weights = [problem.gaps.weight(i, scale) for i in queries]
    low, high = [_down(weight) for weight in weights], [_up(weight) for weight in weights]
    asserts: dict[str, Plain] = {
        SELECTED.name: [str(token) for token in problem.selected],
        MARGIN.name: {"at_least": texts(margins) if per_query else format_rational(min(margins))},
        WEIGHT.name: {
            "at_least": texts(low) if per_query else format_rational(min(low)),
            "at_most": texts(high) if per_query else format_rational(max(high)),
        },
    }
    if head.score is not None:
        asserts[RANK.name] = [str(problem.better(i)) for i in queries]
    if problem.best is not None:
        asserts[BEST.name] = [str(token) for token in problem.best]
    return asserts


def _margin(problem: HeadStatement, i: int) -> fmpq:
    """The margin at query i, rounded down."""
    margin = problem.margin(i)
    return round_down(margin, _DIGITS) if isinstance(margin, fmpq) else _down(margin)


def _down(value: arb) -> fmpq:
    return round_down(lower_rational(value), _DIGITS)


def _up(value: arb) -> fmpq:
    return round_up(upper_rational(value), _DIGITS)


# -- largest margins


def _add_margins(problem: HeadStatement, wanted: _Wanted, asserts: dict[str, Plain]) -> dict[str, Plain]:
    """Add what is stated of largest margins to `asserts`, and return the witness."""
    witness: dict[str, Plain] = {}
    stated: list[Plain] = []
    shown: list[Plain] = []
    for of in wanted.separability:
        if of == BEST.name and problem.best is None:
            raise UsageError("separability of the best tokens needs a score whose largest value no two tokens share")
        found = bounds(problem.chosen_as(of), wanted.gap)
        stated.append({"of": of, **found.asserted()})
        shown.append({"of": of, **_matrix(found), "multipliers": _multipliers(found, with_query=True)})
    if stated:
        asserts[SEPARABILITY.name], witness[SEPARABILITY.name] = stated, shown
    stated, shown = [], []
    for token in wanted.exposure:
        if not 0 <= token < problem.head.prompt.length:
            raise UsageError(f"exposure of token {token}, expected one of the {problem.head.prompt.length}, from 0")
        found = bounds(problem.chosen_as(token), wanted.gap)
        direction: dict[str, Plain] = {} if found.matrix is None else {"direction": texts(found.matrix.T.row(0))}
        stated.append({"token": str(token), **found.asserted()})
        shown.append({"token": str(token), **direction, "multipliers": _multipliers(found, with_query=False)})
    if stated:
        asserts[EXPOSURE.name], witness[EXPOSURE.name] = stated, shown
    return witness


def _matrix(found: Bounds) -> dict[str, Plain]:
    return {} if found.matrix is None else {"W": text_rows(found.matrix)}


def _multipliers(found: Bounds, *, with_query: bool) -> Plain:
    return [
        {**({"query": str(i)} if with_query else {}), "token": str(t), "multiplier": format_rational(value)}
        for (i, t), value in found.multipliers.items()
    ]


def _worth(text: str) -> str | list[str]:
    """The name of a score, or the entries of v."""
    return text if text.replace("-", "").isalpha() else entries(text)


def _inputs(options: dict[str, Any]) -> dict[str, Any]:
    """The options. Raises UsageError for a picture of what is not stated."""
    if options["plot"] is not None and not options["per_query"]:
        raise UsageError("--plot shows what is stated of each query; expected --per-query beside it")
    return options


COMMAND = Command(
    Argument("HEAD", Arrays("given")),
    Option("--scale", "Factor of the logits, an exact number."),
    QUERY_ROWS,
    Option("--causal", "The first query sees the first N tokens, and each further one sees one more.", int, "N"),
    Option(
        "--score", "What tokens are worth: |value|, or <v, value>.", metavar="value-norm|'V1, V2, ...'", parse=_worth
    ),
    Option(
        "--separability",
        "State the largest margin with which one matrix selects the selected, or the best, tokens.",
        (SELECTED.name, BEST.name),
        many=True,
    ),
    Option(
        "--exposure",
        "State the distance of the token's key from the hull of the others: how clearly a query can select it.",
        int,
        "TOKEN",
        many=True,
    ),
    Option("--gap", "How far apart the bounds on a largest margin may be.", float),
    Option("--per-query", "State margins and weights of each query.", bool),
    ARRAY,
    HEAD,
    DATA,
    to_plot("Draw selected tokens and weights; with --per-query."),
    inputs=_inputs,
)
