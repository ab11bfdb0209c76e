"""Several theorems in one run of Coq: it takes longer to load the reals than to prove what is small."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from flint import fmpq

from certattn.coq.compiled import CompiledLibrary
from certattn.coq.coqc import Coq
from certattn.coq.export import modules_for
from certattn.coq.instance import Instance
from certattn.coq.terms import Constant
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

POINT = 1234567890123456789
_REQUIRED = "From CertInstance Require Import Instance.\n"


def row(entries: list[fmpq]) -> ExactMatrix:
    return ExactMatrix.row_vector(entries)


def changed(instance: Instance, name: str, **fields: Any) -> Instance:
    """The same theorem and proof with another constant."""
    assert any(constant.name == name for constant in instance.constants)
    constants: list[Constant] = [
        replace(constant, **fields) if constant.name == name else constant  # type: ignore[type-var]
        for constant in instance.constants
    ]
    return replace(instance, constants=constants)


def prove_together(
    true: Mapping[str, Instance], coq: Coq, library: CompiledLibrary, place: Path, false: Sequence[Instance] = ()
) -> set[str]:
    """The axioms on which the theorems of `true` rest together.

    Of each the statement and the fingerprint are compared; of each of `false` Coq's kernel has to refuse the proof.
    """
    parts = [_proved(k, instance) for k, instance in enumerate(true.values())]
    parts += [_refused(k, instance) for k, instance in enumerate(false)]
    names = ", ".join(f"T{k}.pinned" for k in range(len(true)))
    parts.append(f"Definition together := ({names}).\nPrint Assumptions together.\n")
    file = place / "Together.v"
    file.write_text("\n".join(parts), encoding="ascii")
    for instance in (*true.values(), *false):
        library.provide(modules_for(instance), coq)
    printed = coq.compile(file, place, [(library.folder, "CertAttn")])
    found = map(int, re.findall(r"^\s*= (\d+)\s*: Z$", printed, re.MULTILINE))
    assert dict(zip(true, found, strict=True)) == {name: each.fingerprint(POINT) for name, each in true.items()}
    return set(re.findall(r"^([A-Za-z_][\w.']*)", printed.partition("Axioms:")[2], re.MULTILINE))


def _proved(k: int, instance: Instance) -> str:
    """The text of the instance and what is asked of it, as they are, in a module of their own."""
    question = instance.question(POINT)
    assert _REQUIRED in question
    asked = question.replace(_REQUIRED, "Import Instance.\n").replace("Print Assumptions Instance.certificate.\n", "")
    return f"Module T{k}.\nModule Instance.\n{instance.text()}\nEnd Instance.\n{asked}\nEnd T{k}.\n"


def _refused(k: int, instance: Instance) -> str:
    """Every tactic goes through, and what they have made is not accepted; where it is, `Fail` fails."""
    text, qed, rest = instance.text().rpartition("Qed.")
    assert qed
    assert not rest.strip()
    return f"Module F{k}.\n{text}Fail Qed.\nAbort.\nEnd F{k}.\n"
