"""Coq proves what is true and nothing else: every form of instance once, and a false neighbour of each."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flint import fmpq, fmpz

import certattn
from certattn.coq.check import STANDARD_AXIOMS, prove_with
from certattn.coq.coqc import Coq, RejectedError
from certattn.coq.export import instance_of
from certattn.coq.instance import Instance
from certattn.coq.terms import Constant, Marks, Number, Row, Table
from certattn.kernel.arithmetic.balls import working_precision
from certattn.kernel.arithmetic.exact_matrix import ExactMatrix
from certattn.kernel.arithmetic.finite_moments import ScoreMatrix
from certattn.kernel.arithmetic.gaussian_equivalence import (
    covariance_distance,
    deviation_bound,
    equivalence_bound,
    linearisation,
    mean_universality,
    normalizer_bound,
)

from .conftest import FALSE_MEAN, GALLERY, SMALL, Read


def test_coq_is_here_where_it_has_to_be() -> None:
    if os.environ.get("CERTATTN_REQUIRE_COQ"):
        assert shutil.which("coqc")


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


@pytest.mark.parametrize("name", SMALL)
def test_every_form_of_softmax_distances_is_proved(
    name: str, read: Read, coq: Coq, library: Path, tmp_path: Path
) -> None:
    certificate = read(SMALL[name])
    assert certattn.check(certificate).verdict.value == "verified"
    axioms = prove_with(library, instance_of(certificate), coq, tmp_path / "place")
    assert set(axioms) == STANDARD_AXIOMS


def test_machine_integers_are_used_only_where_that_is_said(read: Read, coq: Coq, library: Path, tmp_path: Path) -> None:
    instance = instance_of(read(SMALL["keys-affine"]), fast=True)
    axioms = prove_with(library, instance, coq, tmp_path / "place")
    assert set(axioms) > STANDARD_AXIOMS
    with pytest.raises(RejectedError, match="rests on more than the axioms of the real numbers"):
        prove_with(library, replace(instance, fast=False), coq, tmp_path / "other")


def test_a_radius_just_below_the_truth_is_not_proved(read: Read, coq: Coq, library: Path, tmp_path: Path) -> None:
    low, high = fmpq(0), fmpq(5)
    while high - low > fmpq(1, 10**9):
        middle = (low + high) / 2
        report = certattn.check(read(FALSE_MEAN.replace("RADIUS", str(middle))))
        low, high = (low, middle) if report.verdict.value == "verified" else (middle, high)
    instance = instance_of(read(FALSE_MEAN.replace("RADIUS", str(high))))
    prove_with(library, instance, coq, tmp_path / "above")
    with pytest.raises(RejectedError, match=r"Instance.v is not proved"):
        prove_with(library, changed(instance, "mean_radius", matrix=row([low, low])), coq, tmp_path / "below")


MAX_MARGIN = ("three-inputs", "three-inputs-relaxed", "three-inputs-labels", "not-separable", "three-inputs-queries")


@pytest.mark.parametrize("name", MAX_MARGIN)
def test_max_margin_solutions_are_proved(name: str, coq: Coq, library: Path, tmp_path: Path) -> None:
    certificate = certattn.load(GALLERY / "max-margin" / f"{name}.yaml")
    axioms = prove_with(library, instance_of(certificate), coq, tmp_path / "place")
    assert set(axioms) < STANDARD_AXIOMS


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


@pytest.mark.parametrize("change", false_margins())
def test_false_neighbours_of_a_solution_are_not_proved(change: str, coq: Coq, library: Path, tmp_path: Path) -> None:
    instance = instance_of(certattn.load(GALLERY / "max-margin" / "three-inputs.yaml"))
    name, fields = false_margins()[change]
    with pytest.raises(RejectedError, match=r"Instance.v is not proved"):
        prove_with(library, changed(instance, name, **fields), coq, tmp_path / "place")


FALSE_CONTRADICTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "weights that leave something": ("weights", {"matrix": row([fmpq(1), fmpq(2), fmpq(1)])}),
    "a negative weight": ("weights", {"matrix": row([fmpq(-1)] * 3)}),
    "levels of 0": ("levels", {"entries": [fmpz(0)] * 3}),
}


@pytest.mark.parametrize("change", FALSE_CONTRADICTIONS)
def test_constraints_that_do_not_contradict_each_other(change: str, coq: Coq, library: Path, tmp_path: Path) -> None:
    instance = instance_of(certattn.load(GALLERY / "max-margin" / "not-separable.yaml"))
    name, fields = FALSE_CONTRADICTIONS[change]
    with pytest.raises(RejectedError, match=r"Instance.v is not proved"):
        prove_with(library, changed(instance, name, **fields), coq, tmp_path / "place")


def test_closed_forms_and_a_false_neighbour(coq: Coq, library: Path, tmp_path: Path) -> None:
    instance = instance_of(certattn.load(GALLERY / "normalizer-bound" / "cool-1000.yaml"))
    assert set(prove_with(library, instance, coq, tmp_path / "true")) == STANDARD_AXIOMS
    stated = next(c for c in instance.constants if isinstance(c, Number) and c.name in ("mean_square", "distance"))
    with pytest.raises(RejectedError, match=r"Instance.v is not proved"):
        prove_with(library, changed(instance, stated.name, value=stated.value / 2), coq, tmp_path / "false")


def test_closed_formulas_are_those_of_the_kernel(coq: Coq, library: Path, tmp_path: Path) -> None:
    """The formulas are written twice: Coq encloses each of its own around the value that Arb gives to the kernel's."""
    scores, eta, theta, cut, excess, x = ScoreMatrix(30, 45, fmpq(3, 2)), *(fmpq(k, 7) for k in (3, 2, 11, 5, 1))
    with working_precision(200):
        values = {
            "normalizer_bound 30 45 (3/2) (2/7) (11/7)": normalizer_bound(scores, theta, cut),
            "linearisation 30 45 (3/2)": linearisation(scores),
            "covariance_distance 30 45 (3/2)": covariance_distance(scores),
            "mean_universality 30 45 (3/2) (3/7) (11/7) (5/7)": mean_universality(scores, eta, cut, excess),
            "deviation_bound 30 (3/7) (1/7)": deviation_bound(30, eta, x, False),
            "equivalence_bound 30 45 (3/2) (3/7) (2/7) (11/7) (5/7)": equivalence_bound(
                scores, eta, theta, cut, excess
            ),
        }
        near = {term: value.mid().fmpq() for term, value in values.items()}
    lemmas = [
        f"Goal (Rabs ({term} - {value.p} / {value.q}) <= 1 / 10 ^ 25)%R.\n"
        "Proof. unfold_formulas; interval with (i_prec 200). Qed.\n"
        for term, value in near.items()
    ]
    file = tmp_path / "Near.v"
    header = "From Coq Require Import Reals.\nFrom CertAttn Require Import Statements Formulas ClosedForms.\n"
    file.write_text(f"{header}Open Scope R_scope.\n{''.join(lemmas)}")
    coq.compile(file, tmp_path, [(library, "CertAttn")])


def test_a_stated_solution_that_is_none_is_not_proved(read: Read, coq: Coq, library: Path, tmp_path: Path) -> None:
    """The multipliers are right, and what the certificate states is not."""
    text = (GALLERY / "max-margin" / "three-inputs.yaml").read_text()
    assert "solution: [4/3, 1/3]" in text
    instance = instance_of(read(text.replace("solution: [4/3, 1/3]", "solution: [4/3, 1/2]")))
    with pytest.raises(RejectedError, match=r"Instance.v is not proved"):
        prove_with(library, instance, coq, tmp_path / "place")


def test_other_numbers_than_the_certificate_s_are_noticed(
    read: Read, coq: Coq, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the writer: Coq proves a true theorem about other numbers."""
    instance = instance_of(read(SMALL["mean"]))
    wider = changed(instance, "mean_radius", matrix=row([fmpq(5), fmpq(7)]))
    text = wider.text()
    monkeypatch.setattr(Instance, "text", lambda self: text)
    with pytest.raises(RejectedError, match="the numbers that Coq has read are not those of the certificate"):
        prove_with(library, instance, coq, tmp_path / "place")


def test_another_theorem_than_the_certificate_s_is_noticed(
    read: Read, coq: Coq, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = instance_of(read(SMALL["mean"]))
    text = replace(instance, conjuncts=instance.conjuncts[:-1]).text()
    monkeypatch.setattr(Instance, "text", lambda self: text)
    with pytest.raises(RejectedError, match=r"Question.v is not proved"):
        prove_with(library, instance, coq, tmp_path / "place")


@pytest.mark.parametrize(
    "constant",
    [
        Row("a", row([fmpq(-(2**200) - 1, 3), fmpq(0), fmpq(5)])),
        Row("a", row([fmpq(2**56), fmpq(-(2**56)), fmpq(2**56 - 1), fmpq(1 - 2**56)])),
        Marks("a", [True, False]),
        Table("a", ExactMatrix.rational([[fmpq(k, 7), fmpq(-k)] for k in range(600)])),
    ],
    ids=lambda constant: type(constant).__name__,
)
def test_coq_and_certattn_agree_on_fingerprints(constant: Constant, coq: Coq, library: Path, tmp_path: Path) -> None:
    point = 1234567890123456789
    empty = Instance(["Statements"], [constant], [], instance_of(SIMPLE).cost)
    file = tmp_path / "Ask.v"
    term = constant.fingerprint_term(str(point), "0")
    definitions = "\n".join(constant.definitions())
    file.write_text(
        f"{empty.header}From CertAttn Require Import Fingerprint.\n{definitions}\nEval vm_compute in {term}.\n"
    )
    printed = coq.compile(file, tmp_path, [(library, "CertAttn")])
    assert printed.split()[1] == str(constant.fingerprint(point, 0))


SIMPLE = certattn.load(GALLERY / "infinite-prompt-operator" / "atoms.yaml")
