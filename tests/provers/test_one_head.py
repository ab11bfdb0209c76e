"""Arrays under the names that people give them, and of several heads the one that is meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certattn
from certattn import UsageError
from certattn.provers.array_inputs import by_fields, found_arrays
from certattn.provers.one_head import WhichHead, of_one_head

RNG = np.random.default_rng(0)
QUERIES, KEYS, VALUES = RNG.normal(size=(2, 6, 4, 2)), RNG.normal(size=(2, 3, 5, 2)), RNG.normal(size=(2, 3, 5, 3))
HEADS = {"queries": QUERIES, "keys": KEYS, "values": VALUES}


def taken(arrays: dict[str, Any], head: WhichHead) -> dict[str, Any]:
    return dict(of_one_head(arrays, head))


@pytest.mark.parametrize("batch", [0, 1])
@pytest.mark.parametrize("head", range(6))
def test_heads_of_queries_share_heads_of_keys(batch: int, head: int) -> None:
    # As repeat_interleave spreads heads of keys over those of queries.
    keys, values = (np.repeat(each, 2, axis=1) for each in (KEYS, VALUES))
    wanted = {"queries": QUERIES[batch, head], "keys": keys[batch, head], "values": values[batch, head]}
    for found in (
        taken(HEADS, f"{batch},{head}"),
        taken({name: array[batch] for name, array in HEADS.items()}, head),
        taken({name: array[batch : batch + 1] for name, array in HEADS.items()}, f" {head}"),
    ):
        assert found.keys() == wanted.keys()
        assert all(np.array_equal(found[name], wanted[name]) for name in wanted)


def test_one_head_is_that_one_and_matrices_are_for_all() -> None:
    one = {name: array[:1, :1] for name, array in HEADS.items()}
    assert {array.shape for array in taken(one, None).values()} == {(4, 2), (5, 2), (5, 3)}
    shared = {"tokens": RNG.normal(size=(5, 2)), "K": RNG.normal(size=(3, 2, 2))}
    assert taken(shared, 1)["tokens"] is shared["tokens"]
    assert np.array_equal(taken(shared, 1)["K"], shared["K"][1])


@pytest.mark.parametrize(
    ("arrays", "head", "words"),
    [
        (
            HEADS,
            None,
            "keys has the shape (2, 3, 5, 2): 2 x 3 batches and heads; expected one head, such as --head 0,0",
        ),
        ({"keys": KEYS[0]}, None, "keys has the shape (3, 5, 2): 3 heads; expected one head, such as --head 0"),
        (HEADS, 1, "--head 1: queries has 2 x 6 heads, in batches; expected a batch and a head, as 0,1"),
        (HEADS, "2,1", "--head 2,1: queries has 2 x 6 heads; expected a batch from 0 to 1"),
        (HEADS, "0,6", "--head 0,6: expected a head from 0 to 5"),
        ({"keys": KEYS[0]}, "0,1", "--head 0,1: keys has 3 heads, in no batch; expected a head, such as 1"),
        ({"keys": KEYS[0], "queries": QUERIES[0, :4]}, 1, "keys has 3 heads, which does not divide the 4 of another"),
        ({"keys": KEYS[0, 0]}, 0, "--head 0: no array has several heads"),
        (HEADS, "first", "--head 'first': expected a head, counted from 0"),
        (HEADS, -1, "--head '-1': expected a head, counted from 0"),
        (HEADS, "0,0,0", "expected a head, counted from 0"),
    ],
)
def test_a_head_that_is_not_there_or_not_named(arrays: dict[str, Any], head: WhichHead, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        taken(arrays, head)
    assert words in str(caught.value)


@pytest.mark.parametrize("claim", ["softmax-mean", "output-deviation", "selection-on-a-head"])
def test_a_head_of_a_file_is_that_head(claim: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "heads.npz", q=QUERIES[0], k=KEYS[0], v=VALUES[0])
    made = certattn.generate(claim, tmp_path / "a.yaml", source=tmp_path / "heads.npz", head=3, scale=1)
    alone = certattn.generate(claim, q=QUERIES[0, 3], k=KEYS[0, 1], v=VALUES[0, 1], scale=1)
    assert made.digest == alone.digest
    assert certattn.check(made).verdict is certattn.Verdict.VERIFIED


def test_a_head_of_scores_is_that_head() -> None:
    whole = certattn.generate("singular-values", queries=KEYS[1], keys=KEYS[0], head=1, scale=1)
    alone = certattn.generate("singular-values", queries=KEYS[1, 1], keys=KEYS[0, 1], scale=1)
    assert whole.digest == alone.digest


def test_arrays_have_the_names_that_compare_knows(tmp_path: Path) -> None:
    arrays = {"queries": QUERIES[0], "keys": KEYS[0], "values": VALUES[0]}
    wanted = certattn.generate("cache-error", **arrays, keep=[0, 2], scale=1)
    for names in (("q", "k", "v"), ("query", "key", "value"), ("q", "keys", "value")):
        named = dict(zip(names, arrays.values(), strict=True))
        np.savez(tmp_path / "head.npz", **named)
        stored = certattn.generate(
            "cache-error", tmp_path / "a.yaml", source=tmp_path / "head.npz", keep=[0, 2], scale=1
        )
        assert stored.numbers == wanted.numbers
        assert certattn.generate("cache-error", **named, keep=[0, 2], scale=1).digest == wanted.digest


def test_two_names_of_one_array_are_asked_about(tmp_path: Path) -> None:
    np.savez(tmp_path / "head.npz", k=KEYS[0, 0], keys=KEYS[0, 0], v=VALUES[0, 0], q=QUERIES[0, 0])
    inputs = {"source": tmp_path / "head.npz", "scale": 1}
    with pytest.raises(UsageError, match=r"head.npz: both 'k' and 'keys'; say which is meant: --array k=k"):
        certattn.generate("softmax-mean", **inputs)
    for word in ("k", "keys"):
        certattn.generate("softmax-mean", **inputs, names={word: "keys"})


def test_another_field_is_never_taken_for_one() -> None:
    assert by_fields({"k": 1, "K": 2}, ("keys", "K")) == {"keys": 1, "K": 2}
    with pytest.raises(UsageError, match="unknown arrays v"):
        by_fields({"v": 1}, ("keys", "queries"))
    assert found_arrays(None, ("keys",), {}, {"keys": None}) == {}


def test_inputs_of_one_length_have_three_axes_in_files_too(tmp_path: Path) -> None:
    keys = RNG.normal(size=(3, 2, 4)).astype(np.float32)
    np.savez(tmp_path / "inputs.npz", keys=keys, indices=np.array([0, 1, 0]))
    stored = certattn.generate("max-margin", tmp_path / "a.yaml", source=tmp_path / "inputs.npz")
    assert stored.digest == certattn.generate("max-margin", keys=keys, indices=[0, 1, 0]).digest
    assert stored.plain["given"]["lengths"] == ["2", "2", "2"]
