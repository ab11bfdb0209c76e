"""Generating `softmax-mean`: what is written verifies, is sharp, and is what numpy computes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import certattn
from certattn import MalformedError, NotProvedError, UsageError, Verdict
from certattn.kernel.errors import Binary64Error
from certattn.provers.attention import mean_enclosures, stated_tables

Arrays = dict[str, np.ndarray[Any, Any]]
Prompt = Callable[..., Arrays]
EVERYTHING = {"covariance": True, "eigenvalues": True, "log_normaliser": True}
WRITTEN_OUT: dict[str, Any] = {
    "keys": [["1", "0"], ["0", "1"], ["-1", "1/2"]],
    "values": [["1", "2"], ["0", "-1"], ["3", "0.5"]],
    "queries": [["1", "1"], ["-2", "0.5"]],
    "scale": "1/sqrt(2)",
}


def generate(out: Path, **inputs: Any) -> certattn.Certificate:
    return certattn.generate("softmax-mean", out, **inputs)


def asserts(certificate: certattn.Certificate) -> Any:
    return certificate.plain["asserts"]


def verify(path: Path) -> certattn.Report:
    report = certattn.check(path)
    assert report.verdict is Verdict.VERIFIED, report.reason
    return report


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def by_numpy(arrays: Arrays, scale: float = 1) -> tuple[Any, Any, Any]:
    """Means, covariances of the values, log-normalisers."""
    scores = scale * arrays["queries"].astype(float) @ arrays["keys"].astype(float).T
    top = scores.max(1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(1, keepdims=True)
    weights /= total
    values = arrays["values"].astype(float)
    means = weights @ values
    covariances = [(values - m).T @ ((values - m) * w[:, None]) for w, m in zip(weights, means, strict=True)]
    return means, np.array(covariances), (top + np.log(total))[:, 0]


# -- what is written


@pytest.mark.parametrize("of", ["values", "keys"])
def test_everything_verifies(tmp_path: Path, prompt: Prompt, of: str) -> None:
    certificate = generate(tmp_path / "a.yaml", **prompt(), **EVERYTHING, of=of, scale="1/sqrt(2)")
    assert list(asserts(certificate)) == ["mean", "covariance", "eigenvalues", "log_normaliser"]
    assert asserts(certificate)["covariance"].get("of", "values") == of
    assert asserts(certificate)["eigenvalues"].get("of", "values") == of
    assert verify(tmp_path / "a.yaml").counts["proved"] == 5 * 3


def test_the_mean_alone_is_the_default(tmp_path: Path, prompt: Prompt) -> None:
    certificate = generate(tmp_path / "a.yaml", **prompt())
    assert list(asserts(certificate)) == ["mean"]
    verify(tmp_path / "a.yaml")


def test_values_and_keys(tmp_path: Path, prompt: Prompt) -> None:
    certificate = generate(tmp_path / "a.yaml", **prompt(), covariance=True, of="values-keys")
    assert np.shape(asserts(certificate)["covariance"]["value"]) == (3, 3, 2)
    verify(tmp_path / "a.yaml")


def test_tokens_with_their_weights(tmp_path: Path, tokens: Arrays) -> None:
    certificate = generate(tmp_path / "kqv.yaml", **tokens, **EVERYTHING, of="keys")
    assert np.shape(asserts(certificate)["covariance"]["value"]) == (3, 2, 2)
    verify(tmp_path / "kqv.yaml")
    U = tokens["K"].T @ tokens["Q"]
    inputs = {"tokens": tokens["tokens"], "queries": tokens["queries"], "U": U, "V": tokens["V"]}
    certificate = generate(tmp_path / "u.yaml", **inputs, covariance=True, of="values-keys")
    assert np.shape(asserts(certificate)["covariance"]["value"]) == (3, 3, 4)
    verify(tmp_path / "u.yaml")


def test_numpy_agrees(tmp_path: Path, prompt: Prompt) -> None:
    arrays = prompt("float64")
    found = asserts(generate(tmp_path / "a.yaml", **arrays, **EVERYTHING, scale="1/4", per_query=True))
    means, covariances, logarithms = by_numpy(arrays, 1 / 4)

    def table(name: str) -> Any:
        return np.array(found[name]["value"], dtype=float)

    assert np.abs(table("mean") - means).max() < 1e-10
    assert np.abs(table("covariance") - covariances).max() < 1e-9
    assert np.abs(table("log_normaliser") - logarithms).max() < 1e-10
    eigenvalues = np.linalg.eigvalsh(covariances)
    for bounds, ends in (("at_least", eigenvalues[:, 0]), ("at_most", eigenvalues[:, -1])):
        assert np.allclose(np.array(found["eigenvalues"][bounds], dtype=float), ends, rtol=1e-8)


def test_a_prompt_written_out(tmp_path: Path) -> None:
    certificate = generate(tmp_path / "a.yaml", given=WRITTEN_OUT, **EVERYTHING)
    assert certificate.plain["given"] == WRITTEN_OUT
    assert asserts(certificate)["mean"]["value"][0] == ["0.86891905711", "0.5"]
    assert files(tmp_path) == ["a.yaml"]
    verify(tmp_path / "a.yaml")


def test_one_query_has_one_matrix(tmp_path: Path, prompt: Prompt) -> None:
    certificate = generate(tmp_path / "a.yaml", **prompt(queries=1), covariance=True)
    assert np.shape(asserts(certificate)["covariance"]["value"]) == (3, 3)
    verify(tmp_path / "a.yaml")


def test_queries_are_a_range_of_rows(tmp_path: Path, prompt: Prompt) -> None:
    certificate = generate(tmp_path / "a.yaml", **prompt(), query_rows="1:3")
    assert len(asserts(certificate)["mean"]["value"]) == 2
    verify(tmp_path / "a.yaml")


@pytest.mark.parametrize("digits", [1, 3, 12, 20])
def test_digits(tmp_path: Path, prompt: Prompt, digits: int) -> None:
    certificate = generate(tmp_path / "a.yaml", **prompt(), **EVERYTHING, digits=digits)
    for name in ("mean", "log_normaliser"):
        texts = np.array(asserts(certificate)[name]["value"]).ravel()
        assert max(len(text.strip("-0.").replace(".", "")) for text in texts) <= digits
    verify(tmp_path / "a.yaml")


def test_the_radius_is_tight_and_safe(tmp_path: Path) -> None:
    certificate = generate(tmp_path / "a.yaml", given=WRITTEN_OUT)
    text, radius = (tmp_path / "a.yaml").read_text(), asserts(certificate)["mean"]["radius"]
    digits, exponent = radius.split("e")
    assert len(digits.replace(".", "")) <= 3
    assert float(radius) < 1e-11
    (tmp_path / "b.yaml").write_text(text.replace(radius, f"{float(digits) - 0.01:.2f}e{exponent}"))
    assert certattn.check(tmp_path / "b.yaml").verdict is Verdict.REFUTED


def test_bounds_on_eigenvalues_are_rounded_outwards(tmp_path: Path) -> None:
    found = asserts(generate(tmp_path / "a.yaml", given=WRITTEN_OUT, eigenvalues=True, digits=6))
    assert found["eigenvalues"] == {"at_least": "0.177532", "at_most": "2.24587"}
    found = asserts(generate(tmp_path / "a.yaml", given=WRITTEN_OUT, eigenvalues=True, digits=6, per_query=True))
    assert found["eigenvalues"] == {"at_least": ["0.671413", "0.177532"], "at_most": ["2.24587", "1.8937"]}


@pytest.mark.parametrize("radius", ["1e-3", "1/3", "1e-13", "1e-40", "0x1p-20", "7"])
def test_a_radius_that_is_asked_for(tmp_path: Path, radius: str) -> None:
    certificate = generate(tmp_path / "a.yaml", given=WRITTEN_OUT, covariance=True, log_normaliser=True, radius=radius)
    stated = certattn.kernel.document.numbers.parse_rational  # type: ignore[attr-defined]
    for name in ("mean", "covariance", "log_normaliser"):
        assert stated(asserts(certificate)[name]["radius"], certattn.Limits()) == stated(radius, certattn.Limits())
    verify(tmp_path / "a.yaml")


def test_radii_for_each_query(tmp_path: Path, prompt: Prompt) -> None:
    arrays = prompt()
    arrays["queries"] = np.array([[0.1, 0.1], [30, -30], [0, 0]], "f4")
    certificate = generate(tmp_path / "a.yaml", **arrays, **EVERYTHING, per_query=True)
    for name in ("mean", "covariance", "log_normaliser"):
        assert len(asserts(certificate)[name]["radius"]) == 3
    verify(tmp_path / "a.yaml")


# -- long tables


def test_long_tables_go_into_a_file(tmp_path: Path, prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stated_tables, "MOST_WRITTEN", 8)
    arrays = prompt("float64")
    certificate = generate(tmp_path / "a.yaml", **arrays, **EVERYTHING)
    assert files(tmp_path) == ["a-stated.npz", "a.npz", "a.yaml"]
    found = asserts(certificate)
    assert (found["mean"]["value"]["shape"], found["covariance"]["value"]["shape"]) == (["3", "3"], ["9", "3"])
    assert len(found["log_normaliser"]["value"]) == 3
    assert float(found["mean"]["radius"]) < 1e-15
    assert verify(tmp_path / "a.yaml").counts["proved"] == 15
    stated = np.load(tmp_path / "a-stated.npz")
    assert np.abs(stated["mean"] - by_numpy(arrays)[0]).max() < 1e-13


def test_logarithms_of_many_queries_are_written_out(
    tmp_path: Path, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A vector in a file would have one extent, and a table has two."""
    monkeypatch.setattr(stated_tables, "MOST_WRITTEN", 2)
    certificate = generate(tmp_path / "a.yaml", **prompt("float64"), log_normaliser=True)
    assert len(asserts(certificate)["log_normaliser"]["value"]) == 3
    assert list(np.load(tmp_path / "a-stated.npz")) == ["mean"]
    verify(tmp_path / "a.yaml")


def test_a_radius_that_is_asked_for_is_written_out(
    tmp_path: Path, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stated_tables, "MOST_WRITTEN", 8)
    generate(tmp_path / "a.yaml", **prompt(), radius="1e-30")
    assert files(tmp_path) == ["a.npz", "a.yaml"]
    verify(tmp_path / "a.yaml")


def test_numbers_beyond_doubles_are_written_out(
    tmp_path: Path, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stated_tables, "MOST_WRITTEN", 8)
    arrays = prompt("float64")
    arrays["values"] = 1e200 * arrays["values"]
    generate(tmp_path / "a.yaml", **arrays, covariance=True)
    assert files(tmp_path) == ["a-stated.npz", "a.npz", "a.yaml"]
    assert list(np.load(tmp_path / "a-stated.npz")) == ["mean"]
    verify(tmp_path / "a.yaml")


@pytest.mark.parametrize("moment", ["attention.softmax_mean.enclosures", "output.write_file"])
def test_an_interruption_leaves_nothing_behind(
    tmp_path: Path, prompt: Prompt, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def interrupted(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(stated_tables, "MOST_WRITTEN", 8)
    monkeypatch.setattr(f"certattn.provers.{moment}", interrupted)
    with pytest.raises(KeyboardInterrupt):
        generate(tmp_path / "a.yaml", **prompt(), covariance=True)
    assert files(tmp_path) == []


def test_whose_covariance_means_nothing_without_one(tmp_path: Path, prompt: Prompt) -> None:
    with pytest.raises(UsageError, match="of is keys, whose covariance is not stated"):
        generate(tmp_path / "a.yaml", **prompt(), of="keys")


# -- in binary64


@pytest.mark.parametrize("wanted", [{"log_normaliser": True}, {"covariance": True, "eigenvalues": True, "of": "keys"}])
def test_binary64_states_what_it_encloses(tmp_path: Path, prompt: Prompt, wanted: dict[str, Any]) -> None:
    exactly = asserts(generate(tmp_path / "a.yaml", **prompt(), **wanted, arithmetic="arb"))
    quickly = asserts(generate(tmp_path / "b.yaml", **prompt(), **wanted, arithmetic="binary64"))
    assert quickly["mean"]["value"] == exactly["mean"]["value"]
    assert Fraction(exactly["mean"]["radius"]) <= Fraction(quickly["mean"]["radius"]) < Fraction(1, 10**10)
    report = certattn.check(tmp_path / "b.yaml", arithmetic="binary64")
    assert report.verdict is Verdict.VERIFIED, report.reason


def test_a_long_prompt_is_enclosed_in_binary64(tmp_path: Path, prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> NoReturn:
        raise AssertionError("Arb was asked")

    monkeypatch.setattr(mean_enclosures, "_MOST_FOR_ARB", 1)
    monkeypatch.setattr(mean_enclosures, "_by_arb", never)
    generate(tmp_path / "a.yaml", **prompt())
    verify(tmp_path / "a.yaml")


def test_scores_beyond_binary64_are_left_to_arb(
    tmp_path: Path, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mean_enclosures, "_MOST_FOR_ARB", 1)
    arrays = prompt("float64")
    arrays["keys"] = 1e6 * arrays["keys"]
    generate(tmp_path / "a.yaml", **arrays)
    verify(tmp_path / "a.yaml")
    with pytest.raises(Binary64Error):
        generate(tmp_path / "b.yaml", **arrays, arithmetic="binary64")


def test_binary64_needs_arrays(tmp_path: Path) -> None:
    given: Any = {"keys": [["1"]], "values": [["1"]], "queries": [["1"]]}
    with pytest.raises(UsageError, match="binary64 needs a prompt in array files"):
        generate(tmp_path / "a.yaml", given=given, arithmetic="binary64")


# -- extreme prompts

EXTREMES: dict[str, Callable[[Arrays], Arrays]] = {
    "one token": lambda a: {"keys": a["keys"][:1], "values": a["values"][:1], "queries": a["queries"]},
    "fewer tokens than dimensions": lambda a: {**a, "keys": a["keys"][:2], "values": a["values"][:2]},
    "equal scores": lambda a: {**a, "keys": np.ones_like(a["keys"])},
    "no scores": lambda a: {**a, "keys": np.zeros_like(a["keys"])},
    "scores of a million": lambda a: {**a, "keys": 1e6 * a["keys"].astype("f8")},
    "huge scores": lambda a: {**a, "keys": 1e300 * a["keys"].astype("f8")},
    "tiny scores": lambda a: {**a, "keys": 5e-324 * np.sign(a["keys"].astype("f8"))},
    "tiny values": lambda a: {**a, "values": 1e-300 * a["values"].astype("f8")},
    "huge values": lambda a: {**a, "values": 1e300 * a["values"].astype("f8")},
    "equal values": lambda a: {**a, "values": np.ones_like(a["values"])},
    "no values": lambda a: {**a, "values": np.zeros_like(a["values"])},
    "integers": lambda a: {name: array.astype("i2") for name, array in a.items()},
}


@pytest.mark.parametrize("of", ["values", "keys"])
@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_prompts(tmp_path: Path, prompt: Prompt, name: str, of: str) -> None:
    generate(tmp_path / "a.yaml", **EXTREMES[name](prompt(queries=2)), **EVERYTHING, of=of, per_query=True)
    verify(tmp_path / "a.yaml")


def test_what_is_exact_has_the_radius_zero(tmp_path: Path) -> None:
    given = {**WRITTEN_OUT, "keys": [["1", "2"]], "values": [["7/8", "-2"]], "scale": "1"}
    found = asserts(generate(tmp_path / "a.yaml", given=given, **EVERYTHING))
    assert found["mean"] == {"value": [["0.875", "-2"], ["0.875", "-2"]], "radius": "0"}
    assert found["covariance"]["radius"] == "0"
    assert found["eigenvalues"] == {"at_least": "0", "at_most": "0"}
    assert found["log_normaliser"] == {"value": ["3", "-1"], "radius": "0"}
    verify(tmp_path / "a.yaml")


# -- what is refused

REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"of": "queries"}, UsageError, "values, keys, values-keys"),
    ({"of": "values-keys", "eigenvalues": True}, UsageError, "no eigenvalues"),
    ({"digits": 0}, UsageError, "1 to 1000"),
    ({"digits": 1001}, UsageError, "1 to 1000"),
    ({"radius": "0"}, UsageError, "a positive number"),
    ({"radius": "-1"}, UsageError, "a positive number"),
    ({"radius": "small"}, UsageError, "radius: 'small'"),
    ({"scale": "0"}, MalformedError, "given.scale"),
    ({"query_rows": "2:9"}, MalformedError, "rows among the 3"),
    ({"data": "move"}, UsageError, "auto, copy, reference"),
    ({"given": WRITTEN_OUT}, UsageError, "with a whole prompt"),
    ({"kees": [[1]]}, UsageError, "unknown arrays kees"),
    ({"note": "x" * 1001}, MalformedError, "1000 characters"),
    ({"radius": "1e-9999"}, NotProvedError, "is known up to .* only, expected 1e-9999"),
]


@pytest.mark.parametrize(("options", "error", "words"), REFUSED)
def test_bad_options_are_refused_and_nothing_is_left(
    tmp_path: Path, prompt: Prompt, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        generate(tmp_path / "a.yaml", **prompt(), **options)
    assert files(tmp_path) == []


def test_a_bad_prompt_written_out_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedError, match=r"\(not written\): given\.values"):
        generate(tmp_path / "a.yaml", given={**WRITTEN_OUT, "values": [["1"]]})
    with pytest.raises(MalformedError, match="unknown key 'limit'"):
        generate(tmp_path / "a.yaml", given={**WRITTEN_OUT, "limit": {"kind": "empirical"}})
    assert files(tmp_path) == []


def test_what_no_precision_encloses_is_not_proved(tmp_path: Path) -> None:
    given = {**WRITTEN_OUT, "queries": [["1e9000", "1"]], "values": [["1"], ["2"], ["3"]]}
    with pytest.raises(NotProvedError, match=r"log_normaliser at query 0 is known up to .*, expected 1e-30"):
        generate(tmp_path / "a.yaml", given=given, log_normaliser=True, radius="1e-30")
    assert files(tmp_path) == []


# -- how the weights are spread


def stated_ends(part: Any) -> tuple[Any, Any]:
    return tuple(np.array(part[name], dtype=float) for name in ("at_least", "at_most"))  # type: ignore[return-value]


@pytest.mark.parametrize("scale", [0.25, -2])
def test_entropies_and_the_largest_weights_are_those_of_scipy(tmp_path: Path, prompt: Prompt, scale: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    arrays = prompt("float64")
    tokens = len(arrays["keys"])
    inputs = {"entropy": True, "top": [1, 2, tokens], "per_query": True, "scale": str(scale)}
    found = asserts(generate(tmp_path / "a.yaml", **arrays, **inputs))
    assert list(found) == ["mean", "entropy", "top"]
    scores = scale * arrays["queries"].astype(float) @ arrays["keys"].astype(float).T
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    for end in stated_ends(found["entropy"]):
        assert np.allclose(end, stats.entropy(weights, axis=1), rtol=1e-9)
    assert [part["count"] for part in found["top"]] == ["1", "2", str(tokens)]
    for part in found["top"]:
        for end in stated_ends(part):
            assert np.allclose(end, np.sort(weights, axis=1)[:, -int(part["count"]) :].sum(1), rtol=1e-9)
    assert verify(tmp_path / "a.yaml").counts["proved"] == 3 * (1 + 2 + 2 * 3)


def test_of_everything_and_nothing_nothing_is_rounded(tmp_path: Path) -> None:
    given = {"keys": [["5"]], "values": [["1"]], "queries": [["7"]]}
    found = asserts(generate(tmp_path / "a.yaml", given=given, entropy=True, top=[1]))
    assert found["entropy"] == {"at_least": "0", "at_most": "0"}
    assert found["top"] == [{"count": "1", "at_least": "1", "at_most": "1"}]
    verify(tmp_path / "a.yaml")


def test_a_row_of_nines_is_cut(tmp_path: Path) -> None:
    given = {"keys": [["0"], ["900"], ["900"]], "values": [["1"], ["2"], ["3"]], "queries": [["1"]]}
    found = asserts(generate(tmp_path / "a.yaml", given=given, entropy=True, top=[2]))
    assert found["top"] == [{"count": "2", "at_least": "0.99999999999999999999", "at_most": "1"}]
    assert found["entropy"] == {"at_least": "0.693147180559", "at_most": "0.69314718056"}
    verify(tmp_path / "a.yaml")


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"top": [0]}, "top is 0, expected 1 to 3"),
        ({"top": [4]}, "top is 4, expected 1 to 3"),
        ({"top": [2, 2]}, "top names a number of tokens twice"),
    ],
)
def test_numbers_of_tokens_that_there_are_not(tmp_path: Path, inputs: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        generate(tmp_path / "a.yaml", given=WRITTEN_OUT, **inputs)


def test_binary64_has_no_entropies(tmp_path: Path, prompt: Prompt) -> None:
    with pytest.raises(UsageError, match="enclosed in arb, not in binary64"):
        generate(tmp_path / "a.yaml", **prompt(), entropy=True, arithmetic="binary64")
