"""Coq proves what is true and nothing else: every form of instance once, and a false neighbour of each."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flint import fmpq, fmpz

import certattn
from certattn.coq.check import prove
from certattn.coq.compiled import CompiledLibrary
from certattn.coq.coqc import Coq, RejectedError
from certattn.coq.export import instance_of, modules_for
from certattn.coq.instance import STANDARD_AXIOMS, Cost, Instance
from certattn.coq.terms import Constant, IndexLists, Indices, Marks, Number, Pairs, Parts, Row, Table, Tables
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.spectrum.gaussian_equivalence import (
    deviation_bound,
    equivalence_bound,
    linearisation,
    mean_universality,
    normalizer_bound,
)
from certattn.kernel.theorems.spectrum.score_matrix import ScoreMatrix
from certattn.kernel.theorems.spectrum.typical_queries import TypicalQueries

from .conftest import FALSE_MEAN, GALLERY, PROPORTIONAL, SMALL, Read
from .together import POINT, changed, prove_together, row


def test_coq_is_here_where_it_has_to_be() -> None:
    if os.environ.get("CERTATTN_REQUIRE_COQ"):
        assert shutil.which("coqc")


def test_every_form_of_softmax_distances_is_proved(
    read: Read, coq: Coq, library: CompiledLibrary, tmp_path: Path
) -> None:
    instances = {}
    for name, text in SMALL.items():
        certificate = read(text)
        assert certattn.check(certificate).verdict.value == "verified"
        instances[name] = instance_of(certificate)
    assert prove_together(instances, coq, library, tmp_path) == STANDARD_AXIOMS


def test_machine_integers_are_used_only_where_that_is_said(
    read: Read, coq: Coq, library: CompiledLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = instance_of(read(SMALL["keys-affine"]), fast=True)
    printed, compiling = [], Coq.compile

    def compile_and_note(*arguments: Any) -> str:
        printed.append(compiling(*arguments))
        return printed[-1]

    monkeypatch.setattr("certattn.coq.check.secrets.randbits", lambda bits: 2**59 + 1)
    monkeypatch.setattr(Coq, "compile", compile_and_note)
    axioms = prove(instance, coq, library, tmp_path)
    assert set(axioms) > STANDARD_AXIOMS
    monkeypatch.setattr(Coq, "compile", lambda *arguments: printed[-1])
    with pytest.raises(RejectedError, match="rests on more than the axioms of the real numbers"):
        prove(replace(instance, fast=False), coq, library, tmp_path)


def test_a_radius_just_below_the_truth_is_not_proved(
    read: Read, coq: Coq, library: CompiledLibrary, tmp_path: Path
) -> None:
    low, high = fmpq(0), fmpq(5)
    while high - low > fmpq(1, 10**9):
        middle = (low + high) / 2
        report = certattn.check(read(FALSE_MEAN.replace("RADIUS", str(middle))))
        low, high = (low, middle) if report.verdict.value == "verified" else (middle, high)
    instance = instance_of(read(FALSE_MEAN.replace("RADIUS", str(high))))
    below = changed(instance, "mean_radius", matrix=row([low, low]))
    prove_together({"above": instance}, coq, library, tmp_path, [below])


def test_what_a_mask_hides_and_what_is_relative_is_in_the_proof(
    read: Read, coq: Coq, library: CompiledLibrary, tmp_path: Path
) -> None:
    """Bounds that are tight to a digit: what other masks there are makes them false."""
    tight = (
        "{relative_at_most: [73/10000, 41/10000], at_most: [1057/10^6, 5502/10^6], at_least: [1056/10^6, 5501/10^6]}"
    )
    text = re.sub(r"per_query: \{[^}]*\}", f"per_query: {tight.replace('10^6', '1000000')}", SMALL["relative"])
    instance = instance_of(read(text))
    false = [
        changed(instance, "each_relative", matrix=row([fmpq(72, 10**4), fmpq(41, 10**4)])),
        changed(instance, "each_relative", matrix=row([fmpq(73, 10**4), fmpq(40, 10**4)])),
        changed(instance, "relative", matrix=row([fmpq(72, 10**4)] * 2)),
        changed(instance, "stop", indices=[3, 3]),
        changed(instance, "stop", indices=[2, 2]),
        changed(instance, "stop", indices=[2, 4]),
        changed(instance, "first", indices=[0, 1]),
        changed(instance, "first", indices=[2, 0]),
    ]
    by_largest = SMALL["relative-linf"].replace("relative_at_most: 20", "relative_at_most: 136/1000")
    largest = instance_of(read(by_largest))
    false.append(changed(largest, "relative", matrix=row([fmpq(135, 1000)] * 2)))
    prove_together({"l2": instance, "linf": largest}, coq, library, tmp_path, false)


def test_bounds_of_eigenvalues_are_proved_to_the_last_digit(
    read: Read, coq: Coq, library: CompiledLibrary, tmp_path: Path
) -> None:
    ends = "{of: keys, at_least: [0.193, 0.102], at_most: [1.149, 1.412]}"
    instance = instance_of(read(re.sub(r"eigenvalues: .*", f"eigenvalues: {ends}", SMALL["eigenvalues"])))
    false = [
        changed(instance, "eigenvalues_at_least", matrix=row([fmpq(194, 1000), fmpq(102, 1000)])),
        changed(instance, "eigenvalues_at_least", matrix=row([fmpq(193, 1000), fmpq(103, 1000)])),
        changed(instance, "eigenvalues_at_most", matrix=row([fmpq(1148, 1000), fmpq(1412, 1000)])),
        changed(instance, "eigenvalues_at_most", matrix=row([fmpq(1149, 1000), fmpq(1411, 1000)])),
        changed(instance, "eigenvalues_at_most", matrix=row([fmpq(1149, 1000)])),
    ]
    prove_together({"eigenvalues": instance}, coq, library, tmp_path, false)


def test_eigenvalues_near_0_are_told_from_0(read: Read, coq: Coq, library: CompiledLibrary, tmp_path: Path) -> None:
    """Of nearly proportional keys: the last pivots are small differences of large numbers."""
    instance = instance_of(read(PROPORTIONAL))
    false = changed(instance, "eigenvalues_at_least", matrix=row([fmpq(1, 10**6)]))
    prove_together({"eigenvalues": instance}, coq, library, tmp_path, [false])


MAX_MARGIN = ("three-inputs", "three-inputs-relaxed", "three-inputs-labels", "not-separable", "three-inputs-queries")


def false_margins() -> dict[str, tuple[str, dict[str, Any]]]:
    """Changes of the theorem about three inputs that make it false, or its proof none."""
    return {
        "another point": ("point", {"matrix": row([fmpq(4, 3), fmpq(1, 3) + fmpq(1, 10**6)])}),
        "another multiplier": ("multipliers", {"matrix": row([fmpq(0), fmpq(1), fmpq(1)])}),
        "a constraint that is not tight": ("neighbours", {"marks": [True, True, True]}),
        "a tight one left out": ("neighbours", {"marks": [False, False, True]}),
        "a support too large": ("support", {"marks": [True, True, True]}),
        "a gap too large": ("gap", {"value": fmpq(2, 3) + fmpq(1, 10**9)}),
        "a margin too large": ("margin_at_least", {"value": fmpq(727607, 10**6)}),
        "a margin too small": ("margin_at_most", {"value": fmpq(727606, 10**6)}),
        "a level that is not reached": ("levels", {"entries": [fmpz(1), fmpz(2), fmpz(1)]}),
    }


FALSE_CONTRADICTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "weights that leave something": ("weights", {"matrix": row([fmpq(1), fmpq(2), fmpq(1)])}),
    "a negative weight": ("weights", {"matrix": row([fmpq(-1)] * 3)}),
    "levels of 0": ("levels", {"entries": [fmpz(0)] * 3}),
}


@pytest.mark.heavy
def test_max_margin_solutions_are_proved_and_false_neighbours_are_not(
    coq: Coq, library: CompiledLibrary, tmp_path: Path
) -> None:
    true = {
        name: instance_of(certattn.load(GALLERY / "selection" / "max-margin" / f"{name}.yaml")) for name in MAX_MARGIN
    }
    false = [changed(true["three-inputs"], name, **fields) for name, fields in false_margins().values()]
    false += [changed(true["not-separable"], name, **fields) for name, fields in FALSE_CONTRADICTIONS.values()]
    assert prove_together(true, coq, library, tmp_path, false) < STANDARD_AXIOMS


CLOSED = GALLERY / "spectrum" / "normalizer-bound" / "cool-1000.yaml"


def test_closed_forms_are_proved(coq: Coq, library: CompiledLibrary, tmp_path: Path) -> None:
    assert set(prove(instance_of(certattn.load(CLOSED)), coq, library, tmp_path)) == STANDARD_AXIOMS


def test_closed_formulas_are_those_of_the_kernel_and_a_false_bound_is_not_proved(
    coq: Coq, library: CompiledLibrary, tmp_path: Path
) -> None:
    """The formulas are written twice: Coq encloses each of its own around the value that Arb gives to the kernel's."""
    scores, eta, theta, x = ScoreMatrix(30, 45, fmpq(3, 2)), *(fmpq(k, 7) for k in (3, 2, 1))
    queries = TypicalQueries(fmpq(11, 7), fmpq(4, 7), fmpq(5, 7))
    with working_precision(200):
        values = {
            "normalizer_bound 30 45 (3/2) (2/7) (11/7)": normalizer_bound(scores, theta, queries.cut),
            "linearisation 30 45 (3/2)": linearisation(scores),
            "mean_universality 30 45 (3/2) (3/7) (11/7) (4/7) (5/7)": mean_universality(scores, eta, queries),
            "deviation_bound 30 (3/7) (1/7)": deviation_bound(30, eta, x, False),
            "equivalence_bound 30 45 (3/2) (3/7) (2/7) (11/7) (4/7) (5/7)": equivalence_bound(
                scores, eta, theta, queries
            ),
        }
        near = {term: value.mid().fmpq() for term, value in values.items()}
    lemmas = [
        f"Goal (Rabs ({term} - {value.p} / {value.q}) <= 1 / 10 ^ 15)%R.\n"
        "Proof. unfold_formulas; interval with (i_prec 90). Qed.\n"
        for term, value in near.items()
    ]
    instance = instance_of(certattn.load(CLOSED))
    stated = next(c for c in instance.constants if isinstance(c, Number) and c.name in ("mean_square", "distance"))
    false = changed(instance, stated.name, value=stated.value / 2)
    definitions = "\n".join(line for constant in false.constants for line in constant.definitions())
    (wrong,) = [each for each in false.conjuncts if stated.name in each.statement]
    file = tmp_path / "Near.v"
    header = "From Coq Require Import Reals ZArith.\nFrom CertAttn Require Import Statements Formulas ClosedForms.\n"
    file.write_text(
        f"{header}Open Scope Z_scope.\n{definitions}\nGoal {wrong.statement}.\nProof. Fail {wrong.proof} Abort.\n"
        f"Open Scope R_scope.\n{''.join(lemmas)}"
    )
    library.provide(modules_for(instance), coq)
    coq.compile(file, tmp_path, [(library.folder, "CertAttn")])


def test_a_stated_solution_that_is_none_is_not_proved(
    read: Read, coq: Coq, library: CompiledLibrary, tmp_path: Path
) -> None:
    """The multipliers are right, and what the certificate states is not."""
    text = (GALLERY / "selection" / "max-margin" / "three-inputs.yaml").read_text()
    assert "solution: [4/3, 1/3]" in text
    instance = instance_of(read(text.replace("solution: [4/3, 1/3]", "solution: [4/3, 1/2]")))
    with pytest.raises(RejectedError, match=r"Instance.v is not proved"):
        prove(instance, coq, library, tmp_path)


def test_other_numbers_than_the_certificate_s_are_noticed(
    coq: Coq, library: CompiledLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the writer: Coq proves a true theorem about other numbers."""
    instance = instance_of(certattn.load(GALLERY / "selection" / "max-margin" / "two-inputs.yaml"))
    text = changed(instance, "margin_at_most", value=fmpq(2)).text()
    monkeypatch.setattr(Instance, "text", lambda self: text)
    with pytest.raises(RejectedError, match="the numbers that Coq has read are not those of the certificate"):
        prove(instance, coq, library, tmp_path)


def test_another_theorem_than_the_certificate_s_is_noticed(
    coq: Coq, library: CompiledLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = instance_of(certattn.load(GALLERY / "selection" / "max-margin" / "two-inputs.yaml"))
    text = replace(instance, conjuncts=instance.conjuncts[:-1]).text()
    monkeypatch.setattr(Instance, "text", lambda self: text)
    with pytest.raises(RejectedError, match=r"Question.v is not proved"):
        prove(instance, coq, library, tmp_path)


CONSTANTS: list[Constant] = [
    Row("a", row([fmpq(-(2**200) - 1, 3), fmpq(0), fmpq(5)])),
    Row("b", row([fmpq(2**56), fmpq(-(2**56)), fmpq(2**56 - 1), fmpq(1 - 2**56)])),
    Marks("c", [True, False]),
    Indices("d", [0, 7, 1]),
    Row("g", row([fmpq((b << 16) + (b << 8) + (255 - b)) for b in range(1, 256)])),
    Row("h", row([fmpq(-(2**40) - b) for b in range(256)])),
    Table("e", ExactMatrix.rational([[fmpq(k, 7), fmpq(-k)] for k in range(600)])),
    Parts("i", row([fmpq(k, 3) for k in range(-2, 3)]), [2, 1, 2]),
    IndexLists("j", [[0, 300], [], [1]]),
    Pairs("k", [None, (0, 0), (2, 1)]),
    Tables("f", ExactMatrix.rational([[fmpq(k, 3)] for k in range(-2, 3)]), [2, 1, 2]),
]


def test_coq_and_certattn_agree_on_fingerprints(coq: Coq, library: CompiledLibrary, tmp_path: Path) -> None:
    """Whatever the constant, also where the theorems of the other tests have none of its size."""
    empty = Instance(["Statements"], CONSTANTS, [], Cost(0, 0))
    definitions = "\n".join(line for constant in CONSTANTS for line in constant.definitions())
    asked = "\n".join(f"Eval vm_compute in {c.fingerprint_term(str(POINT), '0')}." for c in CONSTANTS)
    file = tmp_path / "Ask.v"
    file.write_text(f"{empty.header}From CertAttn Require Import Digits Fingerprint.\n{definitions}\n{asked}\n")
    library.provide(["Statements", "Digits", "Fingerprint"], coq)
    printed = coq.compile(file, tmp_path, [(library.folder, "CertAttn")])
    assert re.findall(r"= (\d+)", printed) == [str(c.fingerprint(POINT, 0)) for c in CONSTANTS]
