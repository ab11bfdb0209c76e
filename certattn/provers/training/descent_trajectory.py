"""State how far descent on concrete prompts is from the same descent on infinite ones, at every step.

Run both descents in balls, at enough precision, and state what they prove.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Record
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems.training.descent_trajectory import (
    EACH,
    FINITE,
    INFINITE,
    REGRESSION,
    TASKS,
    THEOREM,
    read_given,
)
from certattn.kernel.theorems.training.regression import COVARIANCE, read_covariance
from certattn.kernel.theorems.training.stated_prompts import TOKENS
from certattn.provers.array_inputs import Source, placed
from certattn.provers.commands import ARRAY, DATA, Argument, Command, Option, Yaml, to_plot
from certattn.provers.exact_inputs import exact, require_one_of
from certattn.provers.output import Draft, require_place
from certattn.provers.rounding import as_float
from certattn.provers.training.context_prompts import FIELDS, Drawing, drawn, sources
from certattn.provers.training.descent_runs import Said, Wanted, find_run

PLACES = (EACH, FINITE, INFINITE)


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    source: str | Path | None = None,
    names: Mapping[str, str] | None = None,
    draw: Drawing | None = None,
    tasks: bool = True,
    at: str = EACH,
    checkpoints: Sequence[int] = (),
    gronwall: int | None = None,
    data: str = "auto",
    note: str = "",
    said: Said | None = None,
) -> Certificate:
    """Write a certificate of `descent-trajectory` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords; `tokens`, `labels`, `queries`,
        `targets` and `tasks` may be arrays, which are written to a file beside the certificate, or be left out where
        they are drawn or in a file.
    source : path-like, optional
        A file with these arrays.
    names : mapping of str to str, optional
        Their names there that differ, as {"tokens": "x"}.
    draw : Drawing, optional
        Draw such regression prompts (`certattn.provers.training.context_prompts.Drawing`).
    tasks : bool
        Whether infinite prompts are of the tasks w_n, where these are there; else of all tasks.
    at : {"each", "finite", "infinite"}
        Where the gaps of risks and gradients are compared, `each`, `finite` or `infinite`.
    checkpoints : sequence of int
        Steps at which to state both ends of distance and risks; the last step is always among them.
    gronwall : int, optional
        For how many steps to state the closed bound; not at all if left out.
    data : {"auto", "copy", "reference"}
        Copy the arrays beside the certificate, refer to them where they are, or whichever is possible.
    note : str
        A line for the certificate's readers, kept under `provenance`.
    said : callable, optional
        Called during long runs with the steps that are done, and of how many.

    Returns
    -------
    Certificate
        What was written.

    Raises
    ------
    UsageError, MalformedError
        As `certattn.generate` does.
    NotProvedError
        No tube holds the Gronwall bound.

    References
    ----------
    Boursier and Boyer (2026), *Softmax as Linear Attention in the Large-Prompt Regime*, arXiv:2512.11784. Statement and
    proof: docs/claims/training/descent-trajectory.md.

    Examples
    --------
    >>> import certattn, numpy as np
    >>> from certattn.provers.training.descent_trajectory import Drawing
    >>> start = {"A": [["1/2", 0], [0, "1/2"]], "b": "1/2"}
    >>> certificate = certattn.generate(
    ...     "descent-trajectory", model="regression", covariance=np.eye(2), start=start, step="1/20", steps=2,
    ...     draw=Drawing(prompts=2, length=8),
    ... )
    >>> float(certificate.numbers["distance.at_most[2]"])
    0.003922
    """
    require_place(out, source)
    require_one_of(PLACES, at, "at")
    arrays = {name: value for name, value in given.items() if name in FIELDS and isinstance(value, np.ndarray)}
    rest = _mapping(exact({name: value for name, value in given.items() if name not in arrays}, "given"))
    stated = {key: value for key, value in rest.items() if tasks or key != TASKS.name}
    found = _arrays(stated, Path(source) if source is not None else None, names or {}, arrays, draw, out)
    if not tasks:
        found.pop(TASKS.name, None)
    with placed(out, found, data) as references:
        draft = Draft(THEOREM, out, {**stated, **references}, note)
        setting = draft.read(read_given)
        if any(not 0 <= k <= setting.steps for k in checkpoints):
            raise UsageError(f"checkpoints are steps between 0 and {setting.steps}")
        if gronwall is not None and not 1 <= gronwall <= setting.steps:
            raise UsageError(f"the Gronwall bound is for 1 to {setting.steps} steps, not {gronwall}")
        run = find_run(setting, Wanted(at, frozenset({*checkpoints, setting.steps}), gronwall or 0, said))
        return draft.write(run.asserts(), {"bits": str(run.bits_enough())})


def _mapping(plain: Plain) -> dict[str, Plain]:
    if not isinstance(plain, dict):
        raise UsageError("given is not a mapping; expected what certificates write under given")
    return plain


def _arrays(
    given: dict[str, Plain],
    source: Path | None,
    names: Mapping[str, str],
    arrays: Mapping[str, Any],
    drawing: Drawing | None,
    out: Path,
) -> dict[str, Source]:
    """The arrays to be placed: found, or drawn. Raises UsageError and MalformedError."""
    model = given.get("model")
    if drawing is None:
        if source is None and not arrays and not names and TOKENS.name not in given:
            raise UsageError("no prompts; expected --prompts and --length to draw them, or --arrays")
        return sources(source, names, arrays, given)
    if source is not None or arrays:
        raise UsageError("prompts are either drawn or taken from arrays, not both")
    if model != REGRESSION:
        raise UsageError(f"prompts are drawn for the model {REGRESSION!r} only; pass arrays for another")
    covariance = {name: given[name] for name in (COVARIANCE.name,) if name in given}
    exactly = Draft(THEOREM, out, covariance).read(
        lambda draft: read_covariance(Record(COVARIANCE).read(draft.given, draft.reading)[COVARIANCE])
    )
    return drawn(drawing, np.array([[as_float(entry) for entry in row] for row in exactly.to_rows()]))


def _inputs(options: dict[str, Any]) -> dict[str, Any]:
    """The options, of which some together say which prompts are drawn. Raises UsageError."""
    prompts, length, seed, all_tasks = (options.pop(name) for name in ("prompts", "length", "seed", "all_tasks"))
    if (prompts is None) is not (length is None):
        raise UsageError("--prompts and --length go together: the number of prompts to draw and the tokens of each")
    drawn = Drawing(prompts, length, seed) if prompts is not None else None
    return {**options, "draw": drawn, "tasks": not all_tasks}


COMMAND = Command(
    Argument("TRAINING", Yaml("given")),
    Option("--prompts", "Draw this many regression prompts.", int, "N"),
    Option("--length", "How many tokens a drawn prompt has.", int, "L"),
    Option("--seed", "The seed of drawn prompts.", int, default=0),
    Option("--arrays", "A file with the prompts.", Path, "FILE", sets="source"),
    replace(ARRAY, help="Name of an array in that file."),
    Option("--all-tasks", "Compare with infinite prompts of all tasks, not of the prompts' own.", bool, default=False),
    Option(
        "--at",
        "Where risks and gradients are compared: each at its own iterate, or both at the iterate of one descent.",
        PLACES,
    ),
    Option("--checkpoint", "A step to state more about.", int, "K", sets="checkpoints", many=True),
    Option("--gronwall", "State the closed bound of Gronwall's lemma for this many steps.", int, "K"),
    DATA,
    to_plot("Draw the certified bounds on the distance."),
    inputs=_inputs,
    progress="steps",
)
