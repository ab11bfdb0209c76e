"""Every number under `asserts` reaches an obligation, and the script that shows it finds one that does not."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from flint import arb, fmpq

from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.decide.obligation import Obligation
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.schema import Field, Rational, Record
from certattn.kernel.theorems.spectrum import finite_moments, normalizer_bound

TRUST = Path(__file__).resolve().parent.parent / "docs" / "trust.md"
BOUND = "normalizer-bound"
MOMENTS = "finite-moments"


@pytest.fixture(scope="module")
def asserted(tool: Callable[[str], ModuleType]) -> ModuleType:
    return tool("mutation.asserted_leaves")


@pytest.fixture(scope="module")
def sources(asserted: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The certificates of the arena, then those of the gallery."""
    return [*asserted.arena(tmp_path_factory.mktemp("arena")), *asserted.gallery()]


def of_claim(sources: list[Any], claim: str) -> list[Any]:
    return [source for source in sources if source.claim == claim]


@pytest.mark.heavy
@pytest.mark.parametrize("claim", CLAIMS)
def test_every_path_of_a_claim_has_a_leaf_that_reaches_an_obligation(
    claim: str, asserted: ModuleType, sources: list[Any]
) -> None:
    rows = asserted.sample(sources, [claim])
    assert asserted.errors(rows, [claim]) == []
    assert {claim for claim, _ in rows} == {claim}


# -- numbers that no obligation looks at


def broken(theorem: Theorem[Any], change: Callable[[Any], Any]) -> Theorem[Any]:
    """The theorem with other obligations; those that become None are left out."""
    changed = lambda stated: [o for o in map(change, theorem.obligations(stated)) if o is not None]  # noqa: E731
    return replace(theorem, obligations=changed)


def forgetful(other: Callable[[fmpq], fmpq]) -> Theorem[Any]:
    """Reads the bound of the distance, and proves another one."""

    def change(o: Obligation) -> Obligation:
        if o.name != "distance":
            return o
        assert isinstance(o.right, fmpq)
        return replace(o, right=other(o.right))

    return broken(normalizer_bound.THEOREM, change)


PLANTED: dict[str, tuple[Callable[[fmpq], fmpq], set[str]]] = {
    "any number": (lambda bound: fmpq(1), {"up", "down"}),
    "numbers above the stated one": (lambda bound: min(bound, fmpq(1195, 10**5)), {"up"}),
    "numbers below the stated one": (lambda bound: max(bound, fmpq(1195, 10**5)), {"down"}),
}


@pytest.mark.parametrize("ignored", PLANTED)
def test_a_bound_that_is_ignored_is_found(
    ignored: str, asserted: ModuleType, sources: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = [
        source for source in of_claim(sources, BOUND) if source.name.endswith(("cool-1000.yaml", "drawn-1000.yaml"))
    ]
    assert asserted.errors(asserted.whole(chosen, None, 1), [BOUND]) == []
    other, ways = PLANTED[ignored]
    monkeypatch.setitem(CLAIMS._loaded, BOUND, forgetful(other))
    found = asserted.errors(asserted.whole(chosen, None, 1), [BOUND])
    where = f"{BOUND}: no effect: spectrum/{BOUND}/cool-1000.yaml: ('distance', 'at_most'): "
    assert {line.removeprefix(where) for line in found if line.startswith(where)} == ways
    assert f"{BOUND}: distance.at_most: no leaf of it is used to both sides" in found
    # The verdict alone would not have told.
    assert asserted.Trial(chosen[0]).before["distance"][3] == "proved"


def first_alone() -> Theorem[Any]:
    """Looks at the first of the infinite moments only."""

    def change(o: Obligation) -> Obligation | None:
        return None if o.name.startswith("infinite") and o.name != "infinite[0]" else o

    return broken(finite_moments.THEOREM, change)


def test_an_item_that_is_ignored_is_found(
    asserted: ModuleType, sources: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (chosen,) = (source for source in sources if source.name == f"spectrum/{MOMENTS}/infinite.yaml")
    monkeypatch.setitem(CLAIMS._loaded, MOMENTS, first_alone())
    found = "\n".join(asserted.errors(asserted.whole([chosen], None, 1), []))
    for line in ("('infinite', 1): down", "('infinite', 1): left out", "('infinite', 1): twice"):
        assert f"{MOMENTS}: no effect: {chosen.name}: {line}" in found
    assert "('infinite', 0): down" not in found


def test_a_path_that_stands_in_no_certificate_is_found(
    asserted: ModuleType, sources: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    more = Field("more", Rational(), "a number", required=False)
    asserts = Record(*normalizer_bound.ASSERTS.fields.values(), more)
    theorem = replace(normalizer_bound.THEOREM, asserts=asserts)
    monkeypatch.setitem(CLAIMS._loaded, BOUND, theorem)
    found = asserted.errors(asserted.sample(of_claim(sources, BOUND), [BOUND]), [BOUND])
    assert found == [f"{BOUND}: more: in no certificate; write an accept case that has it"]


def test_a_certificate_that_does_not_verify_is_no_place_to_begin(asserted: ModuleType, sources: list[Any]) -> None:
    source = of_claim(sources, BOUND)[0]
    false = replace(source, text=re.sub("at_most: [0-9.e-]+", "at_most: 1e-9", source.text))
    with pytest.raises(ValueError, match=f"{Verdict.REJECTED.value}, expected a certificate that verifies"):
        asserted.Trial(false)


def test_exceptions_that_are_not_needed_are_errors(
    asserted: ModuleType, sources: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = asserted.whole(of_claim(sources, BOUND)[:1], None, 1)
    exceptions = {
        (BOUND, "distance.at_most"): "used",
        (BOUND, "no.such"): "unknown",
        (MOMENTS, "x"): "of another claim",
    }
    needless = [f"{BOUND}: {path}: an exception that is not needed" for path in ("distance.at_most", "no.such")]
    for of_this_kind, others in (("SOMETIMES", "BY_THE_READER"), ("BY_THE_READER", "SOMETIMES")):
        monkeypatch.setattr(asserted, of_this_kind, exceptions)
        monkeypatch.setattr(asserted, others, {})
        assert asserted.needless(rows, [BOUND]) == needless


def test_an_exception_for_some_certificates_does_not_excuse_a_number_that_is_ignored_in_all(
    asserted: ModuleType, sources: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = [
        source for source in of_claim(sources, BOUND) if source.name.endswith(("cool-1000.yaml", "drawn-1000.yaml"))
    ]
    monkeypatch.setitem(CLAIMS._loaded, BOUND, forgetful(lambda bound: fmpq(1)))
    rows = asserted.whole(chosen, None, 1)
    unused = [f"{BOUND}: distance.at_most: no leaf of it is used to both sides"]
    for kind in ("SOMETIMES", "BY_THE_READER"):
        monkeypatch.setattr(asserted, kind, {(BOUND, "distance.at_most"): "so it is said"})
        assert asserted.errors(rows, [BOUND]) == unused


# -- changes, and what they are seen by


def test_sides_are_compared_as_numbers_and_not_as_they_are_printed(asserted: ModuleType) -> None:
    third, near = fmpq(1, 3), fmpq(1, 3) + fmpq(1, 10**200)
    assert asserted.exactly(third) == asserted.exactly(fmpq(2, 6)) != asserted.exactly(near)
    wide, wider = arb(1, 1e-20), arb(1, 1.1e-20)
    assert asserted.exactly(wide) == asserted.exactly(arb(1, 1e-20)) != asserted.exactly(wider)
    assert asserted.exactly(arb(1)) != asserted.exactly(fmpq(1))
    assert asserted.exactly(arb("nan")) == asserted.exactly(arb("nan"))
    before = {"a[0].b": asserted.exactly(third), "c": asserted.exactly(wide)}
    assert asserted.differences(before, dict(before)) == set()
    assert asserted.differences(before, {**before, "a[0].b": asserted.exactly(near)}) == {"a[*].b"}
    assert asserted.differences(before, {"c": asserted.exactly(wide)}) == {"a[*].b"}


def test_a_change_is_made_in_one_place(asserted: ModuleType, tmp_path: Path) -> None:
    tree = {"a": ["4", "1/2"], "b": {"c": "word"}}
    word = asserted.Form(("word", "other"), frozenset({"c"}))
    made = {
        (asserted.key_path(leaf.path), change.way): change.apply(tree)
        for leaf in asserted.leaves(tree, {"b.c": [word]}, tmp_path)
        for changes in leaf.changes.values()
        for change in changes[:1]
    }
    assert made == {
        ("a[0]", "up"): {**tree, "a": ["1099511627777/274877906944", "1/2"]},
        ("a[0]", "down"): {**tree, "a": ["1099511627775/274877906944", "1/2"]},
        ("a[1]", "up"): {**tree, "a": ["4", "1099511627777/2199023255552"]},
        ("a[1]", "down"): {**tree, "a": ["4", "1099511627775/2199023255552"]},
        ("a[0]", "left out"): {**tree, "a": ["1/2"]},
        ("a[0]", "twice"): {**tree, "a": ["4", "4", "1/2"]},
        ("a[1]", "left out"): {**tree, "a": ["4"]},
        ("a[1]", "twice"): {**tree, "a": ["4", "1/2", "1/2"]},
        ("b.c", "another word"): {**tree, "b": {"c": "other"}},
        ("a", "left out"): {"b": {"c": "word"}},
        ("b", "left out"): {"a": ["4", "1/2"]},
        ("b.c", "left out"): {**tree, "b": {}},
    }
    assert tree == {"a": ["4", "1/2"], "b": {"c": "word"}}


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("0.05", "1/21990232555520 1/100 1/20480 1 2 1/40 256/5"),
        ("4e-5", "1/27487790694400000 1/100000 1/25600000 1 2 1/50000 128/3125"),
        ("7", "7/1099511627776 1 7/1024 1 2 3 7168"),
        ("-12e3", "375/34359738368 1000 375/32 1 2 6000 12288000"),
        ("0", "1/1099511627776 1 1/1024 1 2 1 1024"),
    ],
)
def test_a_number_is_moved_by_little_and_then_by_more(asserted: ModuleType, text: str, steps: str) -> None:
    assert [str(step) for step in asserted._steps(text, fmpq(*_ratio(text)))] == steps.split()


def _ratio(text: str) -> tuple[int, int]:
    return Fraction(text).as_integer_ratio()


def test_a_word_of_another_form_brings_along_the_keys_that_it_has(asserted: ModuleType, tmp_path: Path) -> None:
    forms = asserted.allowed("equivalent-law")
    gap = {"gap": {"kind": "open", "lower": "1", "upper": "2", "radius": "1/2"}}
    (leaf,) = (leaf for leaf in asserted.leaves(gap, forms, tmp_path) if leaf.pattern == "gap.kind")
    assert [change.apply(gap) for change in leaf.changes["another word"]] == [
        {"gap": {**gap["gap"], "kind": "none"}},
        {"gap": {"kind": "none"}},
    ]


def test_text_that_is_neither_number_nor_word_is_said_to_be_unknown(asserted: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a.b: 'x y' is neither a number nor one of the words"):
        list(asserted.leaves({"a": {"b": "x y"}}, {}, tmp_path))


def test_numbers_of_array_files_are_moved_as_if_they_were_written_out(asserted: ModuleType, sources: list[Any]) -> None:
    (chosen,) = (s for s in sources if s.name == "arena: softmax-mean: means and covariances in array files")
    (row,) = (row for (_, path), row in asserted.whole([chosen], None, 1).items() if path == "mean.value.*.*")
    assert row.counts == {("up", "used"): 4, ("down", "used"): 4}


# -- the script, and what is said of it


def test_the_script_prints_a_table_and_what_is_wrong(
    asserted: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asserted.main(["--sample", "--claim", BOUND]) == 0
    printed = capsys.readouterr()
    assert re.search(r"^normalizer-bound +distance.at_most +1 +2 +0 +0 +0 +distance$", printed.out, re.MULTILINE)
    assert "8 leaves of 8 paths: 15 changes that 6 kinds of obligations show, 0 refused" in printed.out
    assert printed.err == ""
    monkeypatch.setitem(CLAIMS._loaded, BOUND, forgetful(lambda bound: fmpq(1000)))
    assert asserted.main(["--sample", "--claim", BOUND]) == 1
    assert "distance.at_most: no leaf of it is used to both sides" in capsys.readouterr().out


def test_the_page_about_trust_says_how_many_leaves_and_paths_there_are(
    asserted: ModuleType, sources: list[Any]
) -> None:
    leaves = sum(_scalars(source.certificate().plain["asserts"]) for source in sources)
    paths = sum(len(asserted.allowed(claim)) for claim in CLAIMS)
    said = " ".join(TRUST.read_text().split())
    assert f"{leaves:,} leaves of {paths} paths in {len(sources):,} certificates" in said
    assert f"At {len(asserted.SOMETIMES)} paths" in said
    assert f"At {len(asserted.BY_THE_READER)} paths" in said


def _scalars(tree: Any) -> int:
    if isinstance(tree, str):
        return 1
    if isinstance(tree, list):
        return sum(map(_scalars, tree))
    if "sha256" not in tree:
        return sum(map(_scalars, tree.values()))
    rows, *columns = map(int, tree["shape"])
    first, stop = map(int, tree.get("rows", f"0:{rows}").split(":"))
    return math.prod(columns) * (stop - first)
