"""No false statement verifies, however an accepted certificate is changed.

Every mutant of every accepted base certificate is checked and compared with a second opinion that
shares no code with the kernel (tools/truth/certificate.py). `tools/mutation/mutate_certificates.py` runs the
same sweep over any certificate files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from corpus import ARRAYS, FILES, Cases, Family, check, every_family
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from sabotage import true

from certattn.kernel.decide import proof
from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.decide.proof import Outcome, Verdict
from certattn.kernel.document.certificate import loads
from certattn.kernel.theorems.prompts import infinite_prompt_operator

deviation_cases = Cases("deviation_cases", "region_cases", "mask_cases")
operator_cases = Cases("operator_cases")

Tool = Callable[[str], ModuleType]
pytestmark = pytest.mark.heavy


# So many changes of an accepted certificate are tried, evenly spread over all; fewer where a check takes its time, or
# the second opinion simulates or integrates. `tools/mutation/mutate_certificates.py` does all of them.
MOST = {
    "attention-spectrum": 150, "binary64-exponential": 30, "descent-trajectory": 85, "finite-moments": 100,
    "flow-trajectory": 20,
    "full-batch-descent": 25, "infinite-prompt-operator": 95, "joint-max-margin": 55, "linearization": 135,
    "max-margin": 400, "normalizer-bound": 135, "not-marchenko-pastur": 40, "output-mean-square": 15,
    "proposition-3-1": 100, "proposition-3-4": 100, "regression-risk": 200, "regularization-path": 165,
    "risk-gap": 12, "risk-transfer": 20, "selection-basins": 60,
    "selection-counterexample": 50, "selection-direction": 115,
    "selection-on-a-head": 295, "singular-values": 405, "spectral-distance": 40, "stochastic-descent": 25,
    "token-optimality": 440,
    "training-convergence": 45, "universality-bound": 135,
}  # fmt: skip
ANY_OTHER_CLAIM = 75
THINNED = {
    "attention to tokens of two laws": 12, "an axis beyond the standard test queries, without a suspect": 25,
    "the first size with a finite moment": 15, "another prompt": 20,
}  # fmt: skip
EVERY = {"gradient-mean-square": 37, "gradient-tail": 37, "output-tail": 31}

# Seventeen dimensions have too many numbers, beta^2 is no float, and flows and descents that are long already take
# minutes when they get longer. Beside a matrix of zeros doubles do not tell a distance of 1 from what is 10^-20 less.
# Number types of arrays are changed bit by bit below.
# What is stated of a start of large risk is far from what is true.
# Sums over a truncated Gaussian's interval are not attempted where it becomes very wide.
LEFT_OUT = (
    "a truncated Gaussian, an interval far out",
    "a flow that rests", "a matrix of zeros", "a start of large risk", "a start with b larger than A",
    "an axis beyond the standard test queries", "beta beyond all exponents", "every start in a cone",
    "many good tokens and a bad one, from afar", "the flow", "the plane",
    "the second token of three, after a thousand steps", "two inputs whose best tokens are selected",
)  # fmt: skip


def is_left_out(family: Family) -> bool:
    return family.title in LEFT_OUT or family.title.startswith("number types")


FAMILIES = [each for each in every_family() if each.title in THINNED or not is_left_out(each)]

# Claims that a witness shows with room to spare: a true statement with visible slack may not verify.
CAREFUL = {
    "full-batch-descent", "output-mean-square", "risk-gap", "risk-transfer", "selection-basins",
    "selection-counterexample", "selection-direction", "stochastic-descent", "training-convergence",
}  # fmt: skip


@pytest.fixture(scope="session")
def prompt_truth(tool: Tool) -> ModuleType:
    return tool("truth.prompt")


def tree_of(family: Family, folder: Path) -> dict[str, Any]:
    return loads(next(family.cases()).text, folder / "case.yaml").plain


# -- every single change


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: f"{family.claim}: {family.title}")
def test_no_mutant_is_falsely_accepted_or_refuted(family: Family, arrays: Path, mutate: ModuleType) -> None:
    mutants = list(mutate.mutants(tree_of(family, arrays)))
    most = THINNED.get(family.title, MOST.get(family.claim, ANY_OTHER_CLAIM))
    step = EVERY.get(family.claim, 1 + len(mutants) // most)
    tally = mutate.sweep(mutants[::step], arrays)
    if tally.mutants <= 10 or tally.verified_true == 0 or tally.refused == 0:
        # Few numbers, or few changes that leave something true: three times as many are tried.
        tally = mutate.sweep(mutants[:: max(step // 3, 1)], arrays)
    assert tally.mutants > 10
    assert tally.errors == []
    # A true statement with visible slack verifies: the checker is not merely careful.
    assert family.claim in CAREFUL or tally.not_verified == []
    assert tally.verified_true > 0
    assert tally.refused > 0


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_sweep_notices_a_checker_that_lets_things_pass(
    claim: str, arrays: Path, mutate: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some sixty changes of one family are enough for that."""
    monkeypatch.setattr(proof, "decide", lambda left, relation, right: Outcome.PROVED)
    family = next(each for each in FAMILIES if each.claim == claim and each.title not in THINNED)
    mutants = list(mutate.mutants(tree_of(family, arrays)))
    assert mutate.sweep(mutants[:: 1 + len(mutants) // 60], arrays).false_accepts != []


def test_the_sweep_notices_a_checker_that_refutes_what_is_true(
    arrays: Path, mutate: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "decide", lambda left, relation, right: Outcome.REFUTED)
    mutants = list(mutate.mutants(tree_of(deviation_cases.KEY_VALUE, arrays)))[::3]
    assert len(mutate.sweep(mutants, arrays).false_refutations) > 30


def test_the_sweep_notices_a_checker_that_verifies_what_states_nothing(
    arrays: Path, mutate: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutate, "check", lambda text, folder: (Verdict.VERIFIED, ""))
    tally = mutate.sweep(mutate.mutants(tree_of(operator_cases.MATRICES, arrays)), arrays)
    assert len(tally.false_accepts) > 500
    assert any("states nothing" in line for line in tally.false_accepts)


def test_the_script_prints_a_table_and_its_exit_status_tells_of_errors(
    arrays: Path,
    tmp_path: Path,
    mutate: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "signs.yaml"
    path.write_text(next(operator_cases.LINEAR_SIGNS.cases()).text)
    monkeypatch.setattr("sys.argv", ["mutate_certificates.py", "--pairs", "3", str(path)])
    assert mutate.main() == 0
    head, row, total = capsys.readouterr().out.splitlines()
    assert head.split("  ")[-1] == "false accepts"
    assert row.split()[0] == "signs"
    assert row.split()[1:] == total.split()[1:]
    assert row.split()[-2:] == ["0", "0"]
    monkeypatch.setattr(infinite_prompt_operator, "Obligation", true)
    assert mutate.main() == 1
    assert "false accept: verified: " in capsys.readouterr().out


# -- array files, bit by bit


@pytest.mark.parametrize("name", ["keys", "values", "queries"])
def test_no_flipped_bit_of_an_array_is_falsely_accepted(name: str, tmp_path: Path, mutate: ModuleType) -> None:
    """Every bit of one row of the array; with the digest of the changed file, and with the old one."""
    tree = loads(next(deviation_cases.FILES.cases()).text, tmp_path / "case.yaml").plain
    given: Any = tree["given"]
    (tmp_path / "prompt.npz").write_bytes(FILES["prompt.npz"])
    stale, fresh = [], []
    size = ARRAYS[name].itemsize * 8
    for index in (2, 3):
        for bit in range(size):
            changed = ARRAYS[name].copy()
            words = changed.reshape(-1).view(f"u{size // 8}")
            words[index] ^= words.dtype.type(1 << bit)
            file = f"{name}-{index}-{bit}.npz"
            np.savez(tmp_path / file, **{**{n: ARRAYS[n] for n in ("keys", "values", "queries")}, name: changed})
            digest = hashlib.sha256((tmp_path / file).read_bytes()).hexdigest()
            for mutants, sha256 in ((stale, given[name]["sha256"]), (fresh, digest)):
                reference = {**given[name], "file": file, "sha256": sha256}
                mutants.append(
                    mutate.Mutant(f"{name}[{index}] bit {bit}", {**tree, "given": {**given, name: reference}})
                )
    tally = mutate.sweep(fresh, tmp_path)
    assert tally.errors == tally.not_verified == []
    assert tally.verified_true > 0
    assert tally.refuted_false > 0
    assert mutate.sweep(stale, tmp_path).verdicts == {Verdict.MALFORMED: 2 * size}


# -- several changes, and bounds close to the truth


@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data(), family=st.sampled_from(FAMILIES))
def test_no_chain_of_changes_is_falsely_accepted(
    data: st.DataObject, family: Family, arrays: Path, mutate: ModuleType
) -> None:
    tree, said = tree_of(family, arrays), []
    for _ in range(6):
        candidates = list(mutate.mutants(tree))
        mutant = candidates[data.draw(st.integers(0, len(candidates) - 1))]
        # Of what states nothing there are mutants enough in the sweep: go on without this change.
        if mutate.check(mutant.text, arrays)[0] is not Verdict.MALFORMED:
            tree, said = mutant.tree, [*said, mutant.change]
    tally = mutate.sweep([mutate.Mutant("; ".join(said), tree)], arrays)
    assert tally.errors == []
    assert tally.refused == 0


small = st.fractions(-3, 3, max_denominator=9)
scales = st.sampled_from(["1", "-1/2", "1/sqrt(2)", "sqrt(3)", "20"])


def texts(rows: list[list[Fraction]]) -> list[list[str]]:
    return [[str(entry) for entry in row] for row in rows]


def tables(rows: int, columns: int) -> st.SearchStrategy[list[list[Fraction]]]:
    return st.lists(st.lists(small, min_size=columns, max_size=columns), min_size=rows, max_size=rows)


@st.composite
def prompts(draw: st.DrawFn) -> dict[str, Any]:
    """A random prompt with its queries and limit, as `given`."""
    length, keys, values, count = (draw(st.integers(1, n)) for n in (5, 2, 2, 2))
    given: dict[str, Any] = {
        "keys": texts(draw(tables(length, keys))),
        "values": texts(draw(tables(length, values))),
        "queries": texts(draw(tables(count, keys))),
        "scale": draw(scales),
    }
    if count <= length and draw(st.booleans()):
        given["causal"] = str(draw(st.integers(1, length - count + 1)))
    kind = draw(st.sampled_from(["empirical", "affine", "law"]))
    if kind == "affine":
        (offset,) = draw(tables(1, values))
        matrix = texts(draw(tables(values, keys)))
        return {**given, "limit": {"kind": kind, "matrix": matrix, "offset": [str(x) for x in offset]}}
    if kind == "law":
        law = {"kind": "atoms", "points": texts(draw(tables(draw(st.integers(1, 3)), keys + values)))}
        if draw(st.booleans()):
            sizes = draw(
                st.lists(st.fractions(0, 3, max_denominator=9), min_size=keys + values, max_size=keys + values)
            )
            signs = {"kind": draw(st.sampled_from(["box", "rademacher"])), "sizes": [str(size) for size in sizes]}
            law = {"kind": "mixture", "components": [{"weight": "1/3", "law": law}, {"weight": "2/3", "law": signs}]}
        return {**given, "limit": {"kind": kind, "law": law}}
    return {**given, "limit": {"kind": kind}}


def hairs(value: Any, places: int) -> tuple[str, str]:
    """A number larger, and one smaller, by 10^-places of itself."""
    unit = mp.mpf(10) ** -places
    above, below = (mp.nstr(value * (1 + sign * unit), 100, min_fixed=1, max_fixed=1) for sign in (1, -1))
    return above, below


@settings(max_examples=150, deadline=None, derandomize=True)
@given(given=prompts(), norm=st.sampled_from(["l2", "linf"]), places=st.integers(3, 60))
def test_bounds_a_hair_above_the_truth_verify_and_a_hair_below_are_refuted(
    given: dict[str, Any],
    norm: str,
    places: int,
    tmp_path_factory: pytest.TempPathFactory,
    prompt_truth: ModuleType,
    mutate: ModuleType,
) -> None:
    folder = tmp_path_factory.getbasetemp()

    def verdict(**asserts: str) -> Verdict:
        deviation = {"norm": norm, **asserts}
        tree = {"certattn": "1", "claim": "output-deviation", "given": given, "asserts": {"deviation": deviation}}
        return check(mutate.document(tree), folder).verdict

    asserts = {"deviation": {"norm": norm, "at_most": "1"}}
    comparisons = prompt_truth.deviation_comparisons(given, asserts, {}, folder)
    with mp.workdps(120):
        largest = max(comparison.value() for comparison in comparisons)
        if largest < mp.mpf(10) ** -80:
            # Nothing but rounding: equal as far as this can tell.
            assert verdict(at_most="1e-70") is Verdict.VERIFIED
            return
        above, below = hairs(largest, places)
    assert verdict(at_most=above) is Verdict.VERIFIED
    assert verdict(at_least=below) is Verdict.VERIFIED
    assert verdict(at_most=below) is Verdict.REFUTED
    assert verdict(at_least=above) is Verdict.REFUTED


@st.composite
def laws(draw: st.DrawFn, dimension: int, depth: int = 2) -> dict[str, Any]:
    """A random law as certificates write it."""
    kind = draw(st.sampled_from(["gaussian", "rademacher", "box", "atoms", *(["mixture"] * 2 if depth else [])]))
    if kind == "gaussian":
        (mean,), root = draw(tables(1, dimension)), draw(tables(dimension, dimension))
        covariance = [[sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0)) for b in root] for a in root]
        return {"kind": kind, "mean": [str(m) for m in mean], "covariance": texts(covariance)}
    if kind in ("rademacher", "box"):
        return {"kind": kind, "sizes": [str(abs(size)) for (size,) in draw(tables(dimension, 1))]}
    count = draw(st.integers(1, 3))
    parts = draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))
    weights = [str(Fraction(part, sum(parts))) for part in parts]
    if kind == "atoms":
        return {"kind": kind, "points": texts(draw(tables(count, dimension))), "weights": weights}
    components = [{"weight": weight, "law": draw(laws(dimension, depth - 1))} for weight in weights]
    return {"kind": kind, "components": components}


@settings(max_examples=200, deadline=None, derandomize=True)
@given(data=st.data(), dimension=st.integers(1, 2), scale=scales, places=st.integers(3, 60))
def test_radii_a_hair_above_the_truth_verify_and_a_hair_below_are_refuted(
    data: st.DataObject,
    dimension: int,
    scale: str,
    places: int,
    tmp_path_factory: pytest.TempPathFactory,
    prompt_truth: ModuleType,
    mutate: ModuleType,
) -> None:
    folder = tmp_path_factory.getbasetemp()
    queries, outputs = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2))
    given = {
        "law": data.draw(laws(dimension)),
        "U": texts(data.draw(tables(dimension, queries))),
        "V": texts(data.draw(tables(outputs, dimension))),
        "scale": scale,
    }
    (query,), (value,) = texts(data.draw(tables(1, queries))), texts(data.draw(tables(1, outputs)))

    def asserts(radius: str) -> dict[str, Any]:
        return {"values": [{"query": query, "value": value, "radius": radius}]}

    def verdict(radius: str) -> Verdict:
        tree = {"certattn": "1", "claim": "infinite-prompt-operator", "given": given, "asserts": asserts(radius)}
        return check(mutate.document(tree), folder).verdict

    (comparison,) = prompt_truth.operator_comparisons(given, asserts("0"), {}, folder)
    with mp.workdps(200):
        distance = comparison.value()
        if distance < mp.mpf(10) ** -80:
            assert verdict("1e-70") is Verdict.VERIFIED
            return
        above, below = hairs(distance, places)
    assert verdict(above) is Verdict.VERIFIED
    assert verdict(below) is Verdict.REFUTED


@pytest.mark.heavy
@settings(max_examples=50, deadline=None, derandomize=True)
@given(given=prompts(), of=st.sampled_from(["values", "keys"]), places=st.integers(3, 60))
def test_moments_a_hair_beside_the_truth(
    given: dict[str, Any],
    of: str,
    places: int,
    tmp_path_factory: pytest.TempPathFactory,
    prompt_truth: ModuleType,
    mutate: ModuleType,
) -> None:
    """Radii and eigenvalues' bounds of `softmax-mean`, on either side of what is true."""
    folder = tmp_path_factory.getbasetemp()
    (query, *_), width = given["queries"], len(given[of][0])
    given = {**{key: item for key, item in given.items() if key not in ("limit", "causal")}, "queries": [query]}
    zeros = [["0"] * width for _ in range(width)]
    # What is asserted about a number, the number being the last one in it.
    forms: list[Callable[[str], tuple[dict[str, Any], bool]]] = [
        lambda x: ({"mean": {"value": [["1/7"] * len(given["values"][0])], "radius": x}}, True),
        lambda x: ({"covariance": {"of": of, "value": zeros, "radius": x}}, True),
        lambda x: ({"log_normaliser": {"value": ["1/7"], "radius": x}}, True),
        lambda x: ({"eigenvalues": {"of": of, "at_most": x}}, True),
        lambda x: ({"eigenvalues": {"of": of, "at_least": x}}, False),
        lambda x: ({"entropy": {"at_most": x}}, True),
        lambda x: ({"entropy": {"at_least": x}}, False),
        lambda x: ({"top": [{"count": "1", "at_most": x}]}, True),
        lambda x: (
            {"top": [{"count": str(len(given["keys"])), "at_least": "0"}, {"count": "1", "at_least": x}]},
            False,
        ),
    ]
    for form in forms:
        asserts, upper = form("0")
        *_, comparison = prompt_truth.mean_comparisons(given, asserts, {}, folder)

        def verdict(number: str, form: Any = form) -> Verdict:
            tree = {"certattn": "1", "claim": "softmax-mean", "given": given, "asserts": form(number)[0]}
            return check(mutate.document(tree), folder).verdict

        with mp.workdps(150):
            value = comparison.value()
            if abs(value) < mp.mpf(10) ** -80:
                # Nothing but rounding: equal as far as this can tell.
                assert verdict("1e-70") is (Verdict.VERIFIED if upper else Verdict.REFUTED)
                continue
            above, below = hairs(value, places)
        assert verdict(above if upper else below) is Verdict.VERIFIED
        assert verdict(below if upper else above) is Verdict.REFUTED
