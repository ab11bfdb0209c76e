"""Specs and the tasks that they stand for."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certattn.sweep.axes import MOST_TASKS
from certattn.sweep.draws import drawn, drawn_texts
from certattn.sweep.spec import Spec
from certattn.sweep.tasks import Task

from .conftest import FILES, MEAN, OPERATOR

Read = Callable[[str], Spec]
Refused = Callable[[str], tuple[int, str, str]]
NO_ARRAYS = "arrays for infinite-prompt-operator, which takes none"


def fields(spec: Spec) -> list[str]:
    return [" ".join(map(str, task.fields.values())) for task in spec.tasks()]


# -- expansion


def test_a_grid_is_every_combination_and_the_last_field_changes_fastest(spec: Read) -> None:
    assert fields(spec(OPERATOR)) == ["0 1", "0 2", "0 3", "0.5 1", "0.5 2", "0.5 3"]


def test_zip_goes_together_and_list_is_written_out_beside_a_grid(spec: Read) -> None:
    text = OPERATOR.split("grid:")[0] + "grid:\n  mean: [7]\nlist:\n- {variance: 1}\n- {variance: 1/3}\n"
    assert fields(spec(text)) == ["7 1", "7 1/3"]
    assert fields(spec(MEAN)) == ["4 0", "8 1"]


def test_ranges_are_exact(spec: Read) -> None:
    text = OPERATOR.replace("[1, 2, 3]", "{from: 0.1, to: 0.3, step: 0.1}").replace(
        "{from: 0, to: 1/2, step: 1/2}", "[0]"
    )
    assert fields(spec(text)) == ["0 0.1", "0 0.2", "0 0.3"]
    text = text.replace("{from: 0.1, to: 0.3, step: 0.1}", "{from: 4, to: 100, times: 3}")
    assert fields(spec(text)) == ["0 4", "0 12", "0 36"]


def test_a_field_alone_is_its_value_and_in_a_text_its_words(spec: Read) -> None:
    inputs = [task.inputs for task in spec(MEAN).tasks()]
    assert [each["scale"] for each in inputs] == ["1/sqrt(4)", "1/sqrt(8)"]
    assert inputs[0]["log_normaliser"] is True
    assert inputs[0]["digits"] == 9
    assert spec(MEAN).tasks()[1].arrays["keys"]["shape"] == [8, 2]


def test_a_value_may_be_a_tree_and_a_dollar_is_two(spec: Read) -> None:
    text = OPERATOR.replace("mean: [$mean], covariance: [[$variance]]", "mean: $mean, covariance: [[1]]")
    text = text.split("grid:")[0] + "  note: ${word}s for $$1\ngrid:\n  mean: [[0], [1/2]]\n  word: [token]\n"
    first = spec(text).tasks()[1].inputs
    assert first["given"]["law"]["mean"] == ["1/2"]
    assert first["note"] == "tokens for $1"


def test_files_are_found_hashed_and_not_named_in_the_key(spec: Read, tmp_path: Path) -> None:
    (tmp_path / "heads").mkdir()
    for number in range(2):
        np.savez(tmp_path / "heads" / f"{number}.npz", keys=np.full((2, 2), number))
    text = "certattn-sweep: 1\nclaim: softmax-mean\ninputs: {source: $head}\ngrid: {head: {files: heads/*.npz}}\n"
    tasks = spec(text).tasks()
    assert [task.source for task in tasks] == [str(tmp_path / f"heads/{number}.npz") for number in range(2)]
    (tmp_path / "heads/0.npz").rename(tmp_path / "heads/00.npz")
    assert [task.key for task in spec(text).tasks()] == [task.key for task in tasks]
    (tmp_path / "heads/00.npz").write_bytes(b"other")
    assert spec(text).tasks()[0].key != tasks[0].key


def test_arrays_in_files_of_their_own_are_hashed_too(spec: Read, tmp_path: Path) -> None:
    for name in ("keys", "values", "queries"):
        np.save(tmp_path / f"{name}.npy", np.ones((2, 2)))
    (task,) = spec(FILES).tasks()
    assert task.inputs == {"names": {}}
    assert {array: path for array, (path, _) in task.files.items()} == {
        name: str(tmp_path / f"{name}.npy") for name in ("keys", "values", "queries")
    }
    assert Task.from_dict(json.loads(json.dumps(task.to_dict()))) == task
    (tmp_path / "keys.npy").rename(tmp_path / "same.npy")
    (moved,) = spec(FILES.replace("keys.npy", "same.npy")).tasks()
    assert moved.key == task.key
    np.save(tmp_path / "keys.npy", np.zeros((2, 2)))
    assert spec(FILES).tasks()[0].key != task.key
    exchanged = FILES.replace("keys.npy", "x.npy").replace("values.npy", "keys.npy").replace("x.npy", "values.npy")
    assert spec(exchanged).tasks()[0].key not in (task.key, spec(FILES).tasks()[0].key)


def test_the_order_of_a_spec_is_no_part_of_a_key(spec: Read) -> None:
    keys = {task.key for task in spec(OPERATOR).tasks()}
    assert {task.key for task in spec(OPERATOR.replace("[1, 2, 3]", "[3, 1, 2]")).tasks()} == keys


# -- draws


def draw(**options: Any) -> dict[str, Any]:
    stated = {"draw": "normal", "shape": [5, 2], "seed": 1, "name": "a", "dtype": "float64"}
    return {**stated, "mean": "0", "deviation": "1", **options}


def test_a_draw_is_its_seed_and_its_name() -> None:
    assert (drawn(draw()) == drawn(draw())).all()
    for other in ({"seed": 2}, {"name": "b"}):
        assert (drawn(draw()) != drawn(draw(**other))).all()


def test_distributions_are_what_they_are_called() -> None:
    many = {"shape": [20000]}
    normal = drawn(draw(**many, mean="3", deviation="1/sqrt(4)", dtype="float32"))
    assert abs(normal.mean() - 3) < 0.02
    assert abs(normal.std() - 0.5) < 0.02
    assert normal.dtype == np.float32
    uniform = drawn(draw(**many, draw="uniform", low="-1", high="2"))
    assert uniform.min() >= -1 > uniform.min() - 0.01
    assert uniform.max() < 2
    assert set(drawn(draw(**many, draw="integers", low=-1, high=1))) == {-1, 0, 1}
    assert set(drawn(draw(**many, draw="signs"))) == {-1, 1}


def test_drawn_texts_are_exact(spec: Read) -> None:
    text = OPERATOR.replace("V: [[-1]]", "V: {draw: normal, shape: [1, 1], seed: 5}")
    stated = spec(text).tasks()[0].inputs["given"]["V"]
    ((number,),) = drawn_texts(stated)
    assert float(Fraction(number)) == drawn(stated)[0, 0]


# -- what is refused, and where


@pytest.mark.parametrize(
    ("old", "new", "line", "path", "found"),
    [
        ("certattn-sweep: 1", "certattn-sweep: 2", 1, "certattn-sweep", "'2'"),
        ("claim: infinite-prompt-operator", "claim: nothing", 2, "claim", "'nothing'"),
        ("grid:", "gird:", 6, "gird", "the unknown key 'gird'"),
        ("given:", "gifen:", 4, "inputs.gifen", "the unknown input 'gifen'"),
        ("  given:", "  note: $mean$variance\n  # given:", 4, "inputs", "none of this name"),
        ("$mean", "$men", 4, "inputs.given.law.mean[0]", "'$men'"),
        ("$mean", "$", 4, "inputs.given.law.mean[0]", "'$'"),
        ("$mean", "0", 6, "grid.mean", "the field mean, which nothing uses"),
        ("[1, 2, 3]", "1", 7, "grid.variance", "'1'"),
        ("[1, 2, 3]", "[]", 7, "grid.variance", "a list of 0"),
        ("[1, 2, 3]", "[1, 2, 1]", 1, "", "tasks 0 (mean=0, variance=1) and 2 (mean=0, variance=1) are the same"),
        ("step: 1/2", "step: 0", 6, "grid.mean.step", "'0'"),
        ("step: 1/2", "step: 1e-9", 6, "grid.mean", "500000001"),
        ("to: 1/2", "to: -1", 6, "grid.mean.to", "'-1'"),
        ("step: 1/2", "times: 2", 6, "grid.mean.from", "'0'"),
        ("  variance:", "  Variance:", 7, "grid.Variance", "the name Variance"),
        ("[1, 2, 3]", "{files: '../*.npz'}", 7, "grid.variance.files", "'../*.npz'"),
        ("[1, 2, 3]", "{files: '*.npz'}", 7, "grid.variance.files", "'*.npz', which matches none"),
        ("inputs:", "arrays: {V: {draw: signs, shape: [1, 1], seed: 0}}\ninputs:", 3, "arrays", NO_ARRAYS),
        ("grid:", "zip:\n  mean: [1]\ngrid:", 7, "grid.mean", "the field mean a second time"),
        ("grid:", "zip:", 7, "zip", "2 of mean, 3 of variance"),
    ],
)  # fmt: skip
def test_refused(refused: Refused, old: str, new: str, line: int, path: str, found: str) -> None:
    assert old in OPERATOR
    got = refused(OPERATOR.replace(old, new, 1))
    if path in ("grid.mean", "zip") and line == 7:  # either of the two places is right
        assert got[2] == found
    else:
        assert got == (line, path, found)


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("digits: 9", "digits: many", "inputs.digits"),
        ("digits: 9", "digits: 1.5", "inputs.digits"),
        ("log_normaliser: true", "log_normaliser: yes", "inputs.log_normaliser"),
        ("scale: 1/sqrt($n)", "scale: [1]", "inputs.scale"),
        ("digits: 9", "out: /etc/passwd", "inputs.out"),
        ("digits: 9", "data: reference", "inputs.data"),
        ("digits: 9", "source: nowhere.npz", "inputs.source"),
        ("digits: 9", "names: {keys: nowhere.npy}", "inputs.names.keys"),
        ("shape: [$n, 2]", "shape: [0, 2]", "arrays.keys.shape[0]"),
        ("shape: [$n, 2]", "shape: [$n, 100000000]", "arrays.keys.shape"),
        ("draw: normal", "draw: cauchy", "arrays.keys.draw"),
        ("draw: normal", "draw: integers, low: 1, high: 1/2", "arrays.keys.high"),
        ("draw: uniform", "draw: uniform, low: 3", "arrays.queries"),
        ("seed: $seed", "seed: -1", "arrays.keys.seed"),
        ("seed: [0, 1]", "seed: [0, [1]]", "zip.seed[1]"),
    ],
)
def test_refused_inputs(refused: Refused, old: str, new: str, path: str) -> None:
    assert old in MEAN
    assert refused(MEAN.replace(old, new, 1))[1] == path


def test_more_tasks_than_a_sweep_holds_are_refused_before_they_are_made(refused: Refused) -> None:
    axes = "".join(f"  f{index}: {{from: 1, to: 1000}}\n" for index in range(30))
    note = "".join(f"$f{index}" for index in range(30))
    text = f"certattn-sweep: 1\nclaim: binary64-exponential\ninputs: {{note: {note}}}\ngrid:\n{axes}"
    assert refused(text) == (5, "grid", str(1000**30))
    assert MOST_TASKS < 1000**30
