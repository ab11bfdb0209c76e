"""State that a given prompt stays within a threshold that random prompts rarely exceed.

Find what a random prompt of a law rarely exceeds, and state it of a concrete prompt too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import format_real
from certattn.kernel.theorems.prompts.typical_prompt import THEOREM, Compared, read_given
from certattn.provers.array_inputs import placed
from certattn.provers.commands import ARRAY, DATA, HEAD, SCORE_SCALE, Argument, Arrays, Command, Option, Yaml
from certattn.provers.doubts import rare
from certattn.provers.exact_inputs import Number, exact, exact_text
from certattn.provers.one_head import WhichHead
from certattn.provers.output import Draft, require_place, text_rows
from certattn.provers.prompt_sources import prompt_sources
from certattn.provers.prompts import output_tail
from certattn.provers.prompts.options import DIRECTION, PROBABILITY, THRESHOLD
from certattn.provers.prompts.tail_goals import NORMS


def generate(
    out: Path,
    *,
    source: str | Path | None = None,
    names: Mapping[str, str] | None = None,
    head: WhichHead = None,
    law: dict[str, Any],
    scale: Number = "1",
    query: int = 0,
    directions: Sequence[Sequence[Number]] = (),
    norm: str | None = None,
    exceeds: Number | None = None,
    probability: Number | None = None,
    data: str = "auto",
    note: str = "",
    **arrays: Any,
) -> Certificate:
    """Write a certificate of `typical-prompt` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    source : path-like, optional
        .npz or .safetensors file holding `tokens` (L x d), `queries` (n x d_z) and any of `K`, `Q`, `V`, or `U` and
        `V`. A .npy file holds the tokens.
    names : mapping of str to str, optional
        Names in the file that differ, as {"tokens": "x"}, or .npy files, as {"tokens": "x.npy"}.
    head : int or str, optional
        Which head is meant, counted from 0, where arrays have three axes, heads first; "0,2" is head 2 of batch 0.
    law : mapping
        The law that the tokens are compared with, as certificates write it.
    scale : exact number
        Factor of the scores, such as "1/sqrt(64)".
    query : int
        Which of the queries, counted from 0.
    directions : sequence of vectors of exact numbers
        Directions u of outputs.
    norm : {"l2", "linf"}, optional
        The norm that is bounded.
    exceeds : exact number, optional
        The threshold that is exceeded rarely; left out, it is found as small as the rules allow.
    probability : exact number, optional
        How rarely; left out, it is found. One of the two is given, or both.
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
        No rule proves what is asked for.

    Notes
    -----
    Where this prompt exceeds what is found the certificate is written all the same: it will be refuted, and the report
    says of how rare a prompt.

    References
    ----------
    Boursier and Boyer (2026), *Softmax as Linear Attention in the Large-Prompt Regime*, arXiv:2512.11784. Statement and
    proof: docs/claims/prompts/typical-prompt.md.

    Examples
    --------
    >>> import certattn, numpy as np
    >>> tokens = np.random.default_rng(0).normal(size=(64, 2))
    >>> law = {"kind": "gaussian", "mean": [0, 0], "covariance": [[1, 0], [0, 1]]}
    >>> certificate = certattn.generate(
    ...     "typical-prompt", tokens=tokens, queries=[[0.5, 0]], law=law, probability="0.1"
    ... )
    >>> float(certificate.numbers["norm.exceeds"])
    0.4237
    """
    require_place(out, source)
    stated: dict[str, Plain] = {"scale": exact_text(scale, "scale"), "law": exact(law, "law")}
    sources = prompt_sources(source, names or {}, arrays, head)
    if "tokens" not in sources:
        raise UsageError("keys and values; expected tokens, which a law can be a law of")
    if norm is None and not directions:
        norm = "l2"
    with placed(out, sources, data) as references:
        references["queries"]["rows"] = _row(references["queries"], query)
        draft = Draft(THEOREM, out, {**references, **stated}, note)
        tail = _tail(draft.read(read_given), stated["law"], directions, norm, exceeds, probability)
        found: Any = tail.plain
        return draft.write(found["asserts"], found["witness"])


def _row(queries: dict[str, Any], query: int) -> Plain:
    """One row of the array of queries. Raises UsageError where there is none."""
    count = int(queries["shape"][0])
    if 0 <= query < count:
        return f"{query}:{query + 1}"
    raise UsageError(f"query is {query}, expected one of the {count} queries, counted from 0")


def _tail(
    compared: Compared,
    law: Plain,
    directions: Sequence[Sequence[Number]],
    norm: str | None,
    exceeds: Number | None,
    probability: Number | None,
) -> Certificate:
    """The tail of a random prompt of that length, as a certificate of `output-tail` for the same tilt and values."""
    prompt = compared.random()
    given = {
        "law": law,
        "U": text_rows(ExactMatrix.identity(prompt.dimension)),
        "query": text_rows(prompt.base)[0],
        "scale": format_real(prompt.scale),
        "V": text_rows(prompt.values()),
        "length": str(prompt.length),
    }
    with TemporaryDirectory() as folder:
        return output_tail.generate(
            Path(folder) / "tail.yaml",
            given=given,
            directions=directions,
            norm=norm,
            exceeds=exceeds,
            probability=probability,
        )


COMMAND = Command(
    Argument("PROMPT", Arrays()),
    Option("--law", "The law of the tokens.", Yaml("given.law"), "FILE", required=True),
    Option("--query", "Which of the queries, counted from 0.", int),
    SCORE_SCALE,
    DIRECTION,
    Option("--norm", "The norm; l2 if no direction is given.", NORMS),
    THRESHOLD,
    PROBABILITY,
    ARRAY,
    HEAD,
    DATA,
    inputs=lambda options: {**options, "law": options["law"].get("law", options["law"])},
    doubts=[rare],
)
