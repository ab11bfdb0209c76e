"""State a bound that holds for a prompt, and for nearly all random prompts.

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
from certattn.provers.commands import ARRAY_OR_FILE, DATA, SCORE_SCALE, Argument, Arrays, Command, Option, Yaml
from certattn.provers.exact_inputs import Number, exact, exact_text
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
    source : .npz or .safetensors file holding `tokens` (L x d), `queries` (n x d_z) and any of `K`, `Q`, `V`,
        or `U` and `V`. A .npy file holds the tokens.
    arrays : the same as numpy arrays, by keyword; they are written beside the certificate.
    names : names in the file that differ, as {"tokens": "x"}, or .npy files, as {"tokens": "x.npy"}.
    law : the law that the tokens are compared with, as certificates write it.
    scale : factor of the scores, an exact number.
    query : which of the queries, counted from 0.
    directions : directions u of outputs, each a list of exact numbers.
    norm : "l2" or "linf"; "l2" where there are no directions.
    exceeds : the threshold that is exceeded rarely; left out, it is found as small as the rules allow.
    probability : how rarely; left out, it is found. One of the two is given, or both.
    data : "copy" the arrays beside the certificate, "reference" them where they are, or "auto".
    note : a line about the certificate for its readers, kept under `provenance`.

    Where this prompt exceeds what is found the certificate is written all the same: it will be refuted, and
    the report says of how rare a prompt. Raises UsageError, MalformedError, and NotProvedError where no rule
    proves what is asked for.
    """
    require_place(out, source)
    stated: dict[str, Plain] = {"scale": exact_text(scale, "scale"), "law": exact(law, "law")}
    sources = prompt_sources(source, names or {}, arrays)
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
    ARRAY_OR_FILE,
    DATA,
    inputs=lambda options: {**options, "law": options["law"].get("law", options["law"])},
)
