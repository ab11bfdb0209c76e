"""Errors of outputs of kernels: what their theorems say, what is refused, and that Coq proves no false bound."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import fmpq

import certattn
from certattn.coq import output_errors
from certattn.coq.compiled import CompiledLibrary
from certattn.coq.coqc import Coq
from certattn.coq.export import export, instance_of
from certattn.coq.instance import STANDARD_AXIOMS, Instance, NotExportableError
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import LimitExceededError, MalformedError
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.attention.attention_error import ASSERTS
from certattn.kernel.theorems.attention.stated_heads import GIVEN as GIVEN_RECORD
from certattn.kernel.theorems.attention.stated_heads import QUERIES as QUERIES_FIELD

from .conftest import GALLERY, Read
from .together import changed, prove_together, row

BATCHES, HEADS, KEY_HEADS, QUERIES, TOKENS, LENGTHS, WINDOW = 2, 4, 2, 3, 5, (5, 4), 2


def seen(batch: int, query: int) -> range:
    """Under a mask at the bottom right, of the first tokens of a batch."""
    stop = query + LENGTHS[batch] - QUERIES + 1
    return range(max(0, stop - WINDOW), stop)


def arrays() -> dict[str, Any]:
    """Heads in half precision with an output that is rounded, and log-sum-exps to base 2 in single precision."""

    def pattern(step: int, *extents: int) -> Any:
        return ((step * np.arange(np.prod(extents)) % 23 - 11) / 8).astype("float16").reshape(extents)

    queries = pattern(7, BATCHES, HEADS, QUERIES, 2)
    keys, values = pattern(5, BATCHES, KEY_HEADS, TOKENS, 2), pattern(9, BATCHES, KEY_HEADS, TOKENS, 2)
    output, lse = np.zeros(queries.shape), np.zeros(queries.shape[:-1])
    for place in np.ndindex(*lse.shape):
        batch, head, query = place
        see, shared = list(seen(batch, query)), head * KEY_HEADS // HEADS
        weights = np.exp(keys[batch, shared, see].astype(float) @ queries[place].astype(float) / np.sqrt(2))
        output[place] = weights @ values[batch, shared, see].astype(float) / weights.sum()
        lse[place] = np.log2(weights.sum())
    return {
        "queries": queries, "keys": keys, "values": values,
        "output": output.astype("float16"), "lse": lse.astype("float32"),
    }  # fmt: skip


GIVEN = "scale: 1/sqrt(2)\n  causal: bottom-right\n  window: 2\n  lengths: [5, 4]"
# Each measure between two bounds, which are false where they change places.
BETWEEN = {
    "error": (fmpq(4559, 10**7), fmpq(4560, 10**7)),
    "rms": (fmpq(2117, 10**7), fmpq(2118, 10**7)),
    "relative": (fmpq(4023, 10**7), fmpq(4024, 10**7)),
    "ulps": (fmpq(4811, 10**4), fmpq(4812, 10**4)),
    "lse": (fmpq(1071, 10**10), fmpq(1072, 10**10)),
}
RADIUS, BEYOND = fmpq(1, 7500), 17


def both(measure: str, least: fmpq, most: fmpq) -> str:
    return f"{measure}: {{at_least: {least}, at_most: {most}}}"


def counted(least: int, most: int, radius: fmpq = RADIUS) -> str:
    return f"beyond: {{radius: {radius}, at_least: {least}, at_most: {most}}}"


ALL = "\n  ".join([*(both(measure, *bounds) for measure, bounds in BETWEEN.items()), counted(BEYOND, BEYOND)])


def heads(folder: Path, asserts: str) -> Certificate:
    """Two batches of four heads, of which two share keys and values, under a mask of its own for each batch."""
    stored = arrays()
    np.savez(folder / "heads.npz", **stored)
    digest = hashlib.sha256((folder / "heads.npz").read_bytes()).hexdigest()
    references = {
        name: f"{{file: heads.npz, array: {name}, sha256: {digest}, dtype: {a.dtype}, shape: {list(a.shape)}}}"
        for name, a in stored.items()
    }
    # What nothing is said of may not be there.
    lse = [f'lse: {{value: {references.pop("lse")}, base: "2"}}'][: "lse" in asserts]
    references.pop("lse", None)
    given = "\n  ".join([*(f"{name}: {reference}" for name, reference in references.items()), *lse, GIVEN])
    path = folder / "heads.yaml"
    path.write_text(f"certattn: 1\nclaim: attention-error\ngiven:\n  {given}\nasserts:\n  {asserts}\n")
    return certattn.load(path)


WRITTEN = """\
certattn: 1
claim: attention-error
given:
  queries: [[1, 1/2], [0, -1], [1/3, 2]]
  keys: [[0, 1], [1, 0], [1/3, -2], [1, 1]]
  values: [[1, 0], [2, 1], [-1/2, 3], [0, 1]]
  output: [[1.6, 0.6], [0.8, 1], [1/3, 1]]
  scale: SCALE
  GIVEN
asserts:
  error: {at_most: 10, at_least: 1/1000}
  relative: {at_most: 10}
  rms: {at_least: 1/1000}
"""
SEQUENCES = "sequences: {queries: [2, 1], keys: [3, 1]}"
TWO = '"2"'
LSE = "lse: {value: [[1, 3/2, 1]], base: BASE}"
# Every mask, scale and base that `heads` has not.
SMALL_OUTPUTS = {
    "no mask": WRITTEN.replace("SCALE", "-3/7").replace("  GIVEN\n", ""),
    "top-left": WRITTEN.replace("SCALE", "1").replace("GIVEN", "causal: top-left"),
    "an offset": WRITTEN.replace("SCALE", "sqrt(3)").replace("GIVEN", "causal: 1"),
    "sequences": WRITTEN.replace("SCALE", "1/2").replace("GIVEN", SEQUENCES),
    "log-sum-exps": WRITTEN.replace("SCALE", "1/3").replace("GIVEN", LSE.replace("BASE", "e"))
    + "  lse: {at_most: 4, at_least: 1/100}\n",
}
# One that hides all tokens of the second query, and what else changes scores.
MASK = "mask: [[1, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 0]]\n  empty: zero"
RULES = {
    "mask": MASK,
    "cap": "soft_cap: 5/3",
    "slope": "causal: 1\n  alibi: [-1/2]",
    "sink": "sinks: [7/3]",
    "all": f"{MASK}\n  soft_cap: 2\n  alibi: [1/3]\n  sinks: [-1/2]\n  {LSE.replace('BASE', TWO)}",
    "log-sum-exps": f"soft_cap: 3\n  {LSE.replace('BASE', 'e')}",
}
# The root mean square of the errors, between these ten-thousandths.
RMS = {"mask": 7665, "cap": 6726, "slope": 5733, "sink": 6859, "all": 6772, "log-sum-exps": 7129}
RULED = {
    name: WRITTEN.replace("SCALE", "1/sqrt(2)")
    .replace("GIVEN", rule)
    .replace("  relative: {at_most: 10}\n", "")
    .replace("rms: {at_least: 1/1000}", f"rms: {{at_least: {RMS[name]}/10000, at_most: {RMS[name] + 1}/10000}}")
    + ("  lse: {at_most: 5}\n" if "lse" in rule else "")
    for name, rule in RULES.items()
}
ONLY_LSE = (
    "certattn: 1\nclaim: attention-error\ngiven: {queries: [[1]], keys: [[0], [1]], values: [[1], [2]], "
    "output: [[1]], scale: 1, lse: {value: [[1.3]], base: e}}\nasserts: {lse: {at_most: 0.1}}\n"
)


# -- without Coq


def constant(instance: Instance, name: str) -> Any:
    (found,) = [constant for constant in instance.constants if constant.name == name]
    return found


def test_the_theorem_is_about_the_heads_as_they_are_stated(tmp_path: Path) -> None:
    instance = instance_of(heads(tmp_path, ALL))
    assert instance.says is None
    sights = [[seen(batch, query) for query in range(QUERIES)] for batch in range(BATCHES) for _ in range(HEADS)]
    assert [list(each) for each in constant(instance, "first").lists] == [[s.start for s in sight] for sight in sights]
    assert [list(each) for each in constant(instance, "stop").lists] == [[s.stop for s in sight] for sight in sights]
    for name, array in arrays().items():
        if name != "lse":
            found = constant(instance, name)
            exact = [fmpq(int(x), int(found.denominator)) for part in found.symbols for row in part for x in row]
            assert exact == [fmpq(*float(x).as_integer_ratio()) for x in array.flatten()]
    assert instance.statement.count("(shared_by (Z.to_nat 0x2)") == 4
    assert "log2_normaliser (Root scale_num scale_den)" in instance.statement
    assert "ulps_at_most 0xb (-0xe) ulps_at_most_num ulps_at_most_den" in instance.statement
    assert "beyond_at_most radius_num radius_den 0x11" in instance.statement
    assert "beyond_at_least radius_num radius_den 0x11" in instance.statement


def test_rules_are_those_of_the_certificate(read: Read) -> None:
    instance = instance_of(read(RULED["all"]))
    assert constant(instance, "marks").symbols == [[[1, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 0]]]
    assert constant(instance, "diagonal").symbols == [[1, 2, 3]]
    assert (constant(instance, "slopes").matrix.row(0), constant(instance, "sinks").matrix.row(0)) == (
        [fmpq(1, 3)],
        [fmpq(-1, 2)],
    )
    assert "(ruled_attention (capped cap_num cap_den) (Root scale_num scale_den))" in instance.statement
    assert "(ruled_log2 (capped cap_num cap_den) (Root scale_num scale_den))" in instance.statement
    assert "at_heads" not in instance.statement
    without = instance_of(read(RULED["cap"])).statement
    assert "(repeat no_sink (Z.to_nat 0x1)) diagonal marks" in without


def test_marks_are_what_is_seen_under_every_mask(read: Read) -> None:
    text = SMALL_OUTPUTS["top-left"].replace("top-left", "top-left\n  window: 2\n  mask: [[1, 0, 1, 1]]")
    text = text.replace("[[1, 0, 1, 1]]", "[[1, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1]]")
    assert constant(instance_of(read(text)), "marks").symbols == [[[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0]]]


def test_log_sum_exps_of_a_query_that_sees_nothing_are_refused(read: Read) -> None:
    text = re.sub(r"rms: .*", "rms: {at_most: 10}", RULED["all"].replace("  sinks: [-1/2]\n", ""))
    with pytest.raises(NotExportableError, match="beside a query that sees nothing"):
        instance_of(read(text))


def test_a_part_that_the_theorem_does_not_know_is_refused(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    """A theorem without it would be another statement."""
    monkeypatch.setattr("certattn.coq.output_errors._GIVEN", (QUERIES_FIELD,))
    with pytest.raises(NotExportableError, match="keys, values, output, scale has no form in Coq here"):
        instance_of(read(SMALL_OUTPUTS["no mask"]))


def test_every_part_of_a_certificate_is_known() -> None:
    assert {field.name for field in output_errors._GIVEN} == set(GIVEN_RECORD.fields)
    assert {field.name for field in output_errors._ASSERTED} == set(ASSERTS.fields)


@pytest.mark.parametrize("name", SMALL_OUTPUTS)
def test_masks_are_those_of_the_kernel(name: str, read: Read) -> None:
    certificate = read(SMALL_OUTPUTS[name])
    sight = certattn.CLAIMS["attention-error"].read(certificate).heads.sight(0)
    instance = instance_of(certificate)
    assert [constant(instance, side).lists for side in ("first", "stop")] == [[sight.first], [sight.last]]
    assert "shared_by" not in instance.statement


def test_a_bound_of_log_sum_exps_alone_says_nothing_of_errors(read: Read) -> None:
    statement = instance_of(read(ONLY_LSE)).statement
    assert "(at_heads (fun K _ => log_normaliser (Ratio scale_num scale_den) K)" in statement
    assert "errors" not in statement


FALSE = {
    **{f"{measure} above": both(measure, fmpq(0), least) for measure, (least, _) in BETWEEN.items()},
    **{f"{measure} below": both(measure, most, most + 1) for measure, (_, most) in BETWEEN.items()},
    "fewer beyond": counted(0, BEYOND - 1),
    "more beyond": counted(BEYOND + 1, 96),
}


@pytest.mark.parametrize("name", FALSE)
def test_a_false_bound_leaves_no_slack(name: str, tmp_path: Path) -> None:
    certificate = heads(tmp_path, FALSE[name])
    assert certattn.check(certificate).verdict.value == "refuted"
    with pytest.raises(NotExportableError, match="a bound is not kept"):
        instance_of(certificate)


def test_a_radius_that_an_error_meets_is_refused(read: Read) -> None:
    given = "queries: [[1]], keys: [[0]], values: [[1]], output: [[3/2]], scale: 1"
    met = f"certattn: 1\nclaim: attention-error\ngiven: {{{given}}}\nasserts: {{{counted(0, 1, fmpq(1, 2))}}}\n"
    assert certattn.check(read(met)).verdict.value == "verified"
    with pytest.raises(NotExportableError, match="a little wider"):
        instance_of(read(met))


def test_units_of_a_power_of_two_are_refused(tmp_path: Path) -> None:
    """Whether 1 has the unit of the numbers above it, no interval around it shows."""
    np.savez(tmp_path / "one.npz", output=np.array([[1.001]], "float16"))
    digest = hashlib.sha256((tmp_path / "one.npz").read_bytes()).hexdigest()
    output = f"{{file: one.npz, array: output, sha256: {digest}, dtype: float16, shape: [1, 1]}}"
    given = f"queries: [[1]], keys: [[0], [1]], values: [[1], [1]], output: {output}, scale: 1"
    (tmp_path / "one.yaml").write_text(
        f"certattn: 1\nclaim: attention-error\ngiven: {{{given}}}\nasserts: {{ulps: {{at_most: 2}}}}\n"
    )
    certificate = certattn.load(tmp_path / "one.yaml")
    assert certattn.check(certificate).verdict.value == "verified"
    with pytest.raises(NotExportableError, match="a little wider"):
        instance_of(certificate)


def test_an_output_that_is_not_finite_is_no_theorem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = arrays()
    stored["output"][1, 2, 0, 1] = np.nan
    monkeypatch.setitem(globals(), "arrays", lambda: stored)
    with pytest.raises(MalformedError, match="NaN"):
        instance_of(heads(tmp_path, "error: {at_most: 1}"))


@pytest.mark.heavy
def test_what_would_take_too_long_is_refused() -> None:
    large = certattn.load(GALLERY / "attention" / "attention-error" / "dropped-key.yaml")
    with pytest.raises(LimitExceededError, match="Coq would take about"):
        export(large, Path("unwritten"))


# -- with Coq


@pytest.fixture
def true(tmp_path: Path, read: Read) -> dict[str, Instance]:
    certificates = {"heads": heads(tmp_path, ALL)}
    instances = {"heads": instance_of(certificates["heads"])}
    for name, text in (SMALL_OUTPUTS | RULED | {"only lse": ONLY_LSE}).items():
        certificate = read(text)
        assert certattn.check(certificate).verdict.value == "verified", name
        instances[name] = instance_of(certificate)
    return instances


def test_what_is_true_of_outputs_is_proved(
    true: dict[str, Instance], coq: Coq, library: CompiledLibrary, tmp_path: Path
) -> None:
    assert prove_together(true, coq, library, tmp_path) == STANDARD_AXIOMS


def false_neighbours(instance: Instance) -> Iterator[Instance]:
    """The theorem about all measures with one number changed, so that it is false, or its proof none."""
    copies = {"error": HEADS * BATCHES, "rms": HEADS * BATCHES, "relative": HEADS * BATCHES * QUERIES,
              "lse": HEADS * BATCHES}  # fmt: skip
    for measure, (least, most) in BETWEEN.items():
        if measure in copies:
            yield changed(instance, f"{measure}_at_most", matrix=row([least] * copies[measure]))
        else:
            yield changed(instance, f"{measure}_at_most", value=least)
        yield changed(instance, f"{measure}_at_least", value=most)
    # One more entry is beyond the first radius, one less beyond the second.
    yield changed(instance, "radius", value=fmpq(11, 10**5))
    yield changed(instance, "radius", value=fmpq(142, 10**6))
    # A query that sees another token, and one that sees tokens which are not there.
    for name, by in (("first", -1), ("stop", 1)):
        lists = [list(of_head) for of_head in constant(instance, name).lists]
        lists[0][-1] += by
        yield changed(instance, name, lists=lists)
    exponents = constant(instance, "exponents").items
    yield changed(instance, "exponents", items=[exponents[0], hex(int(exponents[1], 16) + 1), *exponents[2:]])
    yield changed(instance, "exponents", items=exponents[:-1])


def test_what_is_false_of_outputs_is_not_proved(
    true: dict[str, Instance], coq: Coq, library: CompiledLibrary, tmp_path: Path
) -> None:
    prove_together({"heads": true["heads"]}, coq, library, tmp_path, list(false_neighbours(true["heads"])))


def false_rules(instances: dict[str, Instance]) -> Iterator[Instance]:
    """Theorems about rules with one number changed: the root mean squares are others then."""
    every = instances["all"]
    for name, by in (("cap", fmpq(1, 10)), ("rms_at_least", fmpq(1, 10**4))):
        yield changed(every, name, value=constant(every, name).value + by)
    for name in ("slopes", "sinks", "rms_at_most"):
        yield changed(every, name, matrix=row([constant(every, name).matrix.row(0)[0] - fmpq(1, 10)]))
    yield changed(every, "diagonal", matrix=ExactMatrix.rational([[fmpq(k) for k in (2, 2, 3)]]))
    marks = ([1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 1, 0]), ([1, 1, 0, 1], [0, 1, 0, 0], [1, 1, 1, 0])
    for rows in marks:
        yield changed(every, "marks", stacked=ExactMatrix.rational([[fmpq(k) for k in each] for each in rows]))
    for name in RULED:
        yield changed(instances[name], "rms_at_most", matrix=row([fmpq(RMS[name], 10**4)]))
        yield changed(instances[name], "rms_at_least", value=fmpq(RMS[name] + 1, 10**4))
    # Nothing is seen by a query, and there is no sink: it has no log-sum-exp.
    blind = ExactMatrix.rational([[fmpq(0)] * 4, [fmpq(1)] * 4, [fmpq(1)] * 4])
    yield changed(instances["log-sum-exps"], "marks", stacked=blind)


def test_other_rules_are_not_proved(
    true: dict[str, Instance], coq: Coq, library: CompiledLibrary, tmp_path: Path
) -> None:
    prove_together({"all": true["all"]}, coq, library, tmp_path, list(false_rules(true)))
