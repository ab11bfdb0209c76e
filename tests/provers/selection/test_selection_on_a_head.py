"""Generating `selection-on-a-head`: what is stated is proved, as sharply as asked for, and nonsense is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certattn
from certattn import MalformedError, NotProvedError, UsageError, Verdict

NAME = "selection-on-a-head"
RNG = np.random.default_rng(11)
KEYS, VALUES, QUERIES = RNG.normal(size=(20, 3)), RNG.normal(size=(20, 2)), RNG.normal(size=(6, 3))
HEAD: dict[str, Any] = {"keys": KEYS, "values": VALUES, "queries": QUERIES}
GIVEN: dict[str, Any] = {
    "keys": [["0", "1"], ["1", "0"], ["0", "0"], ["1/4", "1/4"], ["1", "0"]],
    "values": [["1"], ["2"], ["0"], ["3"], ["1"]],
    "queries": [["1", "3"], ["-1", "2"]],
}


def generate(out: Path, **inputs: Any) -> Any:
    return certattn.generate(NAME, out, **{**HEAD, **inputs}).plain


def verify(path: Path) -> None:
    report = certattn.check(path)
    assert report.verdict is Verdict.VERIFIED, report.reason


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"scale": "1/sqrt(3)"},
        {"scale": "-1/2"},
        {"per_query": True},
        {"causal": 2},
        {"causal": 15, "per_query": True, "score": "value-norm"},
        {"score": ["1", "-1/2"]},
        {"score": "value-norm", "separability": ["selected", "best"]},
        {"scale": "-2", "separability": ["selected"], "causal": 3},
        {"exposure": [0, 19, 7]},
        {"query_rows": "2:4"},
        {"separability": ["selected"], "gap": 1e-3},
    ],
    ids=str,
)
def test_what_is_generated_verifies(more: dict[str, Any], tmp_path: Path) -> None:
    generate(tmp_path / "a.yaml", **more)
    verify(tmp_path / "a.yaml")


@pytest.mark.parametrize(
    "weights",
    [
        {"K": RNG.normal(size=(2, 3)), "Q": RNG.normal(size=(2, 4)), "V": RNG.normal(size=(1, 3))},
        {"U": RNG.normal(size=(3, 4)), "V": RNG.normal(size=(1, 3))},
    ],
    ids=["K, Q, V", "U, V"],
)
def test_tokens_with_weights(weights: dict[str, Any], tmp_path: Path) -> None:
    queries = RNG.normal(size=(5, 4))
    certattn.generate(
        NAME, tmp_path / "a.yaml", tokens=KEYS, queries=queries, **weights, score="value-norm",
        separability=["selected"], exposure=[1],
    )  # fmt: skip
    verify(tmp_path / "a.yaml")


def test_the_selected_tokens_and_ranks_are_those_of_numpy(tmp_path: Path) -> None:
    asserts = generate(tmp_path / "a.yaml", score="value-norm", per_query=True)["asserts"]
    logits = QUERIES @ KEYS.T
    selected = logits.argmax(axis=1)
    assert asserts["selected"] == [str(token) for token in selected]
    norms = np.linalg.norm(VALUES, axis=1)
    assert asserts["rank"] == [str((norms > norms[token]).sum()) for token in selected]
    assert set(asserts["best"]) == {str(norms.argmax())}
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    share = weights.max(axis=1) / weights.sum(axis=1)
    for low, true, high in zip(asserts["weight"]["at_least"], share, asserts["weight"]["at_most"], strict=True):
        assert float(low) <= true * (1 + 1e-12)
        assert true <= float(high) * (1 + 1e-12)
        assert float(high) - float(low) < 2e-3 * true
    ordered = np.sort(logits, axis=1)
    assert np.allclose([float(x) for x in asserts["margin"]["at_least"]], ordered[:, -1] - ordered[:, -2], rtol=2e-3)


@pytest.mark.parametrize("gap", [0.2, 0.05, 0.01])
def test_bounds_of_largest_margins_are_as_near_as_asked_for(gap: float, tmp_path: Path) -> None:
    asserts = generate(tmp_path / "a.yaml", separability=["selected"], exposure=[int(KEYS[:, 0].argmax())], gap=gap)[
        "asserts"
    ]
    for stated in (*asserts["separability"], *asserts["exposure"]):
        assert 0 < (1 - gap - 0.02) * float(stated["at_most"]) <= float(stated["at_least"]) <= float(stated["at_most"])


def test_what_cannot_be_selected_is_proved_exactly(tmp_path: Path) -> None:
    asserts = certattn.generate(
        NAME, tmp_path / "a.yaml", given={**GIVEN, "score": {"kind": "value-norm"}},
        separability=["best"], exposure=[3, 1, 0],
    ).plain["asserts"]  # fmt: skip
    assert asserts["separability"] == [{"of": "best", "at_most": "0"}]
    inside, twice, corner = asserts["exposure"]
    assert inside == {"token": "3", "at_most": "0"}
    assert twice == {"token": "1", "at_most": "0"}
    assert float(corner["at_least"]) > 0.7
    verify(tmp_path / "a.yaml")


def test_a_key_nearly_inside_is_not_said_to_be_inside(tmp_path: Path) -> None:
    given = {**GIVEN, "keys": [["0", "1"], ["1", "0"], ["0", "0"], ["1/2", "0.5000000000000000000001"]]}
    given["values"] = given["values"][:4]
    (stated,) = certattn.generate(NAME, tmp_path / "a.yaml", given=given, exposure=[3]).plain["asserts"]["exposure"]
    assert "at_least" not in stated
    assert 0 < float(stated["at_most"]) < 1e-9
    verify(tmp_path / "a.yaml")


def test_without_a_best_token_none_is_stated(tmp_path: Path) -> None:
    given = {**GIVEN, "score": {"kind": "direction", "v": ["0"]}}
    asserts: Any = certattn.generate(NAME, tmp_path / "a.yaml", given=given).plain["asserts"]
    assert "best" not in asserts
    assert asserts["rank"] == ["0", "0"]
    with pytest.raises(UsageError, match="no two tokens share"):
        certattn.generate(NAME, tmp_path / "b.yaml", given=given, separability=["best"])


def test_two_tokens_of_the_largest_logit_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotProvedError, match="tokens 1 and 4 share the largest logit at query 0"):
        certattn.generate(NAME, tmp_path / "a.yaml", given={**GIVEN, "queries": [["1", "0"]]})
    assert not (tmp_path / "a.yaml").exists()


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"gap": 0.0}, UsageError, "gap is 0.0"),
        ({"gap": 1.0}, UsageError, "gap is 1.0"),
        ({"score": "key-norm"}, UsageError, "'value-norm' or a direction"),
        ({"score": [0.6, 1]}, UsageError, "an exact one"),
        ({"score": ["1"]}, MalformedError, "the dimension of a value"),
        ({"separability": ["all"]}, UsageError, "'selected' or 'best'"),
        ({"separability": ["best"]}, UsageError, "needs a score"),
        ({"exposure": [20]}, UsageError, "one of the 20"),
        ({"exposure": [-1]}, UsageError, "one of the 20"),
        ({"causal": 1}, MalformedError, "an integer >= 2"),
        ({"causal": 16}, MalformedError, "at most 15"),
        ({"scale": "0"}, MalformedError, "other than 0"),
        ({"given": GIVEN}, UsageError, "with a whole"),
    ],
    ids=str,
)
def test_nonsense_is_refused(more: dict[str, Any], error: type[Exception], words: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=words):
        generate(tmp_path / "a.yaml", **more)
    assert list(tmp_path.iterdir()) == []


def test_numbers_beyond_doubles_have_no_largest_margin(tmp_path: Path) -> None:
    given = {**GIVEN, "keys": [["0", "1e400"], ["1", "0"], ["0", "0"], ["1/4", "1/4"], ["1", "0"]]}
    with pytest.raises(UsageError, match="beyond the range of doubles"):
        certattn.generate(NAME, tmp_path / "a.yaml", given=given, exposure=[0])
    certattn.generate(NAME, tmp_path / "a.yaml", given=given)
    verify(tmp_path / "a.yaml")


def test_a_figure_shows_what_is_stated(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from certattn.provers.selection.head_plot import draw_certificate

    made = certattn.generate(NAME, tmp_path / "a.yaml", **HEAD, per_query=True, causal=2)
    draw_certificate(made, tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    for words in ("selected token", "stated weight", "margin at least", "last token that is seen", "6 queries select"):
        assert words in text
    draw_certificate(made, tmp_path / "b.svg")
    assert (tmp_path / "b.svg").read_text() == text
