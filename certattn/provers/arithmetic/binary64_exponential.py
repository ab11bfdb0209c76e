"""Bound the error of the kernel's exponential in binary64.

State how accurate the kernel's own exponential is, and a score at which its error almost reaches the bound.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

import numpy as np
from flint import arb, fmpq

from certattn.fast.exponential import L1, L2, TABLE, Work, exp_shifted, own_exponential
from certattn.fast.exponential_bound import PROOF_BITS, SIZE, Exponential, relative_error_bound, table_errors
from certattn.fast.units import Floats
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.arithmetic.binary64_exponential import MOST, THEOREM, relative_error_at
from certattn.provers.commands import Command, Option
from certattn.provers.output import Draft, require_place, write_file
from certattn.provers.rounding import lower_rational, round_down, round_up, upper_rational
from certattn.statements.digits import hexadecimal

DIGITS = 6
TABLE_FILE = "exponential-table.npy"
# Where to look for a large error: around the worst entries of the table, in steps of their distance.
_ENTRIES = 8
_STEPS = 2000


def generate(out: Path, *, tail: bool = False, at_most: str | None = None, note: str = "") -> Certificate:
    """Write a certificate of `binary64-exponential` about the kernel's own constants to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    tail : bool
        Whether to state the bound for the form with a tail.
    at_most : exact number, optional
        The bound to state; by default the proved one, rounded up to 6 digits.
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
        `at_most` is too small.

    Notes
    -----
    The table is written beside the certificate, as exponential-table.npy.

    References
    ----------
    Statement and proof: docs/claims/arithmetic/binary64-exponential.md.

    Examples
    --------
    >>> import certattn
    >>> certificate = certattn.generate("binary64-exponential")
    >>> float(certificate.numbers["relative_error.at_most"])
    2.26356e-16
    """
    require_place(out)
    function = own_exponential(tail=tail)
    with working_precision(PROOF_BITS):
        bound = upper_rational(relative_error_bound(function))
        score, least = _worst(function)
    stated = format_rational(round_up(bound, DIGITS)) if at_most is None else at_most
    constants: dict[str, Plain] = {
        "L1": hexadecimal(function.l1),
        "L2": hexadecimal(function.l2),
        "inverse": hexadecimal(function.inverse),
        "C2": hexadecimal(function.c2),
        "C3": hexadecimal(function.c3),
    }
    at: dict[str, Plain] = {"score": hexadecimal(score), "at_least": format_rational(least)}
    with _table_beside(out) as table:
        given: dict[str, Plain] = {"constants": constants, "table": table}
        given["scores_up_to"] = format_rational(function.score_limit)
        if tail:
            given["tail_up_to"] = hexadecimal(function.tail_limit)
        draft = Draft(THEOREM, out, given, note)
        asserts: dict[str, Plain] = {"relative_error": {"at_most": stated, "at": at}, "used_by": "kernel"}
        asserted = draft.read(THEOREM.read, asserts).error.get(MOST)
        if asserted is not None and asserted < bound:
            proved = arb(bound).str(10, radius=False)
            raise NotProvedError(f"at_most {stated} is too small: what is proved is about {proved}")
        return draft.write(asserts)


def _worst(function: Exponential) -> tuple[fmpq, fmpq]:
    """A score with a large relative error, and that error rounded down."""
    scores = _candidates(function)
    values = np.empty_like(scores)
    exp_shifted(scores.copy(), 0, values, Work(scores.shape))
    errors = [abs(arb(w) / arb(s).exp() - 1).mid() for s, w in zip(scores.tolist(), values.tolist(), strict=True)]
    worst = max(range(len(errors)), key=errors.__getitem__)
    score = fmpq(*scores[worst].item().as_integer_ratio())
    error = relative_error_at(function, score, fmpq(0))
    if error is None:
        raise NotProvedError("the kernel's exponential has no finite value where it was computed")
    return score, round_down(lower_rational(error), DIGITS)


def _candidates(function: Exponential) -> Floats:
    """Scores around the entries of the table with the largest errors."""
    errors = [error.mid() for error in table_errors(function.table)]
    worst = sorted(range(SIZE), key=errors.__getitem__, reverse=True)[:_ENTRIES]
    around = (np.arange(_STEPS) + 0.5) / _STEPS - 0.5
    return np.concatenate([(j + around) * (L1 + L2) for j in worst])


@contextmanager
def _table_beside(out: Path) -> Iterator[dict[str, Plain]]:
    """A reference to the kernel's table as a file beside the certificate; removed again if the block raises."""
    buffer = io.BytesIO()
    np.save(buffer, TABLE.astype("<f8", copy=False))
    content, path = buffer.getvalue(), out.parent / TABLE_FILE
    was_there = path.exists()
    if not was_there:
        write_file(path, content)
    elif not path.is_file() or path.read_bytes() != content:
        raise UsageError(f"{path} exists with other content; move it away, or choose another folder for -o")
    try:
        yield {
            "file": TABLE_FILE,
            "sha256": sha256(content).hexdigest(),
            "dtype": "float64",
            "shape": [str(SIZE)],
        }
    except BaseException:
        if not was_there:
            with suppress(OSError):
                path.unlink()
        raise


COMMAND = Command(
    Option("--tail", "State the bound for the form that adds a tail to the reduced argument.", bool),
    Option("--at-most", "The bound to state; by default what is proved, rounded up to 6 digits.", metavar="R"),
)
