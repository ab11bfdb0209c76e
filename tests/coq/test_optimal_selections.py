"""Coq decides about locally optimal selections: what is true, and every false statement and wrong proof beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import certattn
from certattn.coq.compiled import CompiledLibrary
from certattn.coq.coqc import Coq
from certattn.coq.export import instance_of
from certattn.coq.instance import STANDARD_AXIOMS, Instance

from .conftest import Read
from .together import prove_together

# Every form of an assertion and of a proof, keys that are images, labels, an input of a single token.
IMAGES = """\
certattn: 1
claim: token-optimality
given:
  tokens: [[[0, 1], [1, 1/3], [-1, 2]], [[1, 0], [0, 0]], [[1, 1]]]
  W: [[1, 1/2], [0, 1], [1, -1]]
  v: [1/3, 1]
  labels: [1, -1, 1]
asserts:
  optimal: [[2], [1], [0]]
  locally_optimal: [[2, 1, 0]]
  not_locally_optimal:
  - {indices: [0, 0, 0], because: not-separable}
  - {indices: [1, 1, 0], because: {input: 0, token: 0}}
  all_locally_optimal: [[2, 1, 0]]
witness:
  locally_optimal:
  - [{input: 1, token: 0, multiplier: 1/2}]
  not_locally_optimal:
  - - {input: 0, token: 1, multiplier: 3/24}
    - {input: 0, token: 2, multiplier: 2/24}
    - {input: 1, token: 1, multiplier: 1/24}
  - [{input: 0, token: 0, multiplier: 39/17}, {input: 1, token: 0, multiplier: 54/17}]
  cuts:
  - - {input: 0, chosen: 0, other: 1, multiplier: 6}
    - {input: 0, chosen: 0, other: 2, multiplier: 4}
    - {input: 1, chosen: 0, other: 1, multiplier: 2}
  supports: [[1, 2], [4], [0, 3], [0, 4], [3]]
"""
# Scores that are equal, and lists of them that are not equally long.
TIES = """\
certattn: 1
claim: token-optimality
given:
  keys: [[[0, 0], [1, 0], [0, 1]], [[1, 1], [-1, -1]]]
  scores: [[1/2, 0.5, 1/3], [-7, -7]]
asserts:
  optimal: [[0, 1], [1, 0]]
  all_locally_optimal: none
witness:
  cuts: [[{input: 0, chosen: 0, other: 1, multiplier: 1}, {input: 0, chosen: 0, other: 2, multiplier: 1},
    {input: 1, chosen: 0, other: 1, multiplier: 1/2}]]
  supports: [[1, 2], [0], [0, 3], [0], [0, 3]]
"""
# Changes of the text above that make a statement false, or a proof none.
FALSE = {
    "a worse token as the best": ("optimal: [[2]", "optimal: [[1]"),
    "a worse token beside the best": ("optimal: [[2]", "optimal: [[2, 1]"),
    "a selection that is not locally optimal": ("\n  locally_optimal: [[2, 1, 0]]", "\n  locally_optimal: [[1, 1, 0]]"),
    "another multiplier": ("token: 0, multiplier: 1/2}]", "token: 0, multiplier: 2/3}]"),
    "a multiplier of another token": (
        "- [{input: 1, token: 0, multiplier: 1/2}]", "- [{input: 0, token: 0, multiplier: 1/2}]"),
    "a locally optimal selection among the others": (
        "indices: [1, 1, 0], because: {input: 0, token: 0}", "indices: [2, 1, 0], because: {input: 1, token: 0}"),
    "a token that is no neighbour": ("because: {input: 0, token: 0}", "because: {input: 0, token: 2}"),
    "a separable selection called not separable": (
        "indices: [1, 1, 0], because: {input: 0, token: 0}", "indices: [1, 1, 0], because: not-separable"),
    "a combination that is not 0": ("multiplier: 3/24", "multiplier: 4/24"),
    "another multiplier of p_mm": ("multiplier: 54/17", "multiplier: 55/17"),
    "a locally optimal selection left out": ("all_locally_optimal: [[2, 1, 0]]", "all_locally_optimal: none"),
    "a selection too many": ("all_locally_optimal: [[2, 1, 0]]", "all_locally_optimal: [[2, 1, 0], [1, 1, 0]]"),
    "a cut that is not 0": ("multiplier: 6}", "multiplier: 5}"),
    "a cut of other tokens": ("1, chosen: 0, other: 1, multiplier: 2}", "1, chosen: 1, other: 0, multiplier: 2}"),
    "a cut of fewer terms": ("\n    - {input: 1, chosen: 0, other: 1, multiplier: 2}", ""),
    "a support of another point": ("[0, 3], [0, 4]", "[0], [0, 4]"),
    "a support of dependent rows": ("[0, 3], [0, 4]", "[0, 1, 2, 3], [0, 4]"),
    "a support of a chosen token": ("[0, 3], [0, 4]", "[1, 3], [0, 4]"),
    "a selection without a support": ("[[1, 2], [4], ", "[[1, 2], "),
    "a support too many": ("[0, 4], [3]]", "[0, 4], [3], [3]]"),
    "other labels": ("labels: [1, -1, 1]", "labels: [-1, -1, 1]"),
    "other scores": ("v: [1/3, 1]", "v: [1/3, -1]"),
}  # fmt: skip

# Lists of statements that go together, and of their proofs.
LISTS = ("items", "lists", "pairs", "indices")
SHORTENED = (
    "optimal",
    "accepted",
    "accepted_proofs",
    "refused",
    "reasons",
    "refused_proofs",
    "cuts",
    "proofs",
    "counts",
)


def without_last(instance: Instance, name: str) -> Instance:
    """The same theorem, and of one list in it or in its proof the last item gone."""
    found = [c for c in instance.constants if c.name == name]
    (shorter,) = [replace(c, **{field: getattr(c, field)[:-1]}) for c in found for field in LISTS if hasattr(c, field)]
    return replace(instance, constants=[shorter if c.name == name else c for c in instance.constants])


def test_selections_are_decided(read: Read, coq: Coq, library: CompiledLibrary, tmp_path: Path) -> None:
    true = {"images": IMAGES, "ties": TIES}
    instances = {}
    for name, text in true.items():
        certificate = read(text)
        assert certattn.check(certificate).verdict.value == "verified"
        instances[name] = instance_of(certificate)
    false = []
    for name, (old, new) in FALSE.items():
        assert IMAGES.count(old) == 1, name
        certificate = read(IMAGES.replace(old, new))
        assert certattn.check(certificate).verdict.value in ("refuted", "rejected"), name
        false.append(instance_of(certificate))
    false += [without_last(instances["images"], name) for name in SHORTENED]
    assert prove_together(instances, coq, library, tmp_path, false) < STANDARD_AXIOMS
