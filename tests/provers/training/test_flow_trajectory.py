"""`certattn generate flow-trajectory`: from files to certificates that verify, and pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

import certattn
from certattn.cli.generate import generate as commands
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.provers.training import flow_trajectory

Tool = Callable[[str], ModuleType]
PLANE = {"covariance": [["1", "1/2"], ["1/2", "5/4"]], "start": {"alpha": "1/2", "P": [["3/5", "0"], ["0", "4/5"]]}}


def made(path: Path, **inputs: Any) -> list[dict[str, Any]]:
    """The points of a certificate; it verifies."""
    certificate = certattn.generate("flow-trajectory", path, **inputs)
    assert certattn.check(path).verdict is Verdict.VERIFIED
    asserts: Any = certificate.plain["asserts"]
    return list(asserts["points"])


def test_times_are_stated_in_their_order(tmp_path: Path) -> None:
    points = made(tmp_path / "c.yaml", given={**PLANE, "training": {"rule": "flow"}}, times=["2", "1/2", "1"])
    assert [point["time"] for point in points] == ["0.5", "1", "2"]
    assert all(point["radius"] == "1e-20" and "tube" not in point for point in points)
    assert [("bayes" in point) for point in points] == [False, False, True]
    assert float(points[-1]["risk"]["upper"]) < float(points[0]["risk"]["lower"])


@pytest.mark.heavy
def test_up_to_the_limit(tmp_path: Path) -> None:
    points = made(tmp_path / "c.yaml", given=PLANE, within="1e-4", points=4, radius="1e-30", tube=True)
    assert len(points) == 4
    assert 1e-5 < float(points[-1]["bayes"]) <= 1e-4
    assert points[0]["radius"] == "1e-30"
    # Times T (k/N)^2.
    assert float(points[1]["time"]) == pytest.approx(4 * float(points[0]["time"]))
    assert all(0 < float(point["tube"]) < 1 for point in points)


def test_dimension_five_to_within_a_millionth_of_the_limit(tool: Tool, tmp_path: Path) -> None:
    instances = tool("gallery.training")
    given = {"covariance": instances.COVARIANCES["isotropic"], "start": instances.start("1/2", instances.BALANCED[5])}
    (point,) = made(tmp_path / "c.yaml", given=given, within="1e-6")
    assert float(point["bayes"]) <= 1e-6
    assert point["radius"] == "1e-20"


@pytest.mark.heavy
def test_an_order_is_kept(tmp_path: Path) -> None:
    certificate = certattn.generate("flow-trajectory", tmp_path / "c.yaml", given=PLANE, times=["1"], order=10)
    assert certificate.plain["witness"] == {"bits": "96", "order": "10"}


def test_a_flow_at_rest(tmp_path: Path) -> None:
    given = {"covariance": [["1"]], "start": {"A": [["0"]], "b": "0"}}
    (point,) = made(tmp_path / "c.yaml", given=given, times=["5"])
    assert (point["A"], point["b"]) == ([["0"]], "0")
    assert "bayes" not in point


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({}, r"no time; expected --time, once or more, or the distance from a zero of R to go to \(--within\)"),
        ({"times": ["1"], "within": "1e-3"}, r"expected either --time or --within"),
        ({"times": ["1/2", "2", "0.5"]}, "the time 0.5 is there twice; expected each time once"),
        ({"times": ["0"]}, "expected times > 0"),
        ({"times": ["1", "2"], "points": 3}, "expected one time to divide"),
        ({"times": ["1"], "points": 0}, "expected at least 1"),
        ({"times": ["1"], "radius": "0"}, "expected a positive number"),
        ({"times": ["1"], "order": 7}, "expected 8 to 100"),
        ({"within": "0"}, "expected a positive number"),
        ({"within": "1e-3", "given": {"covariance": [["1"]], "start": {"A": [["0"]], "b": "0"}}}, "the flow rests"),
        ({"times": ["1"], "given": {**PLANE, "training": {"rule": "descent", "step": "1"}}}, "not by the flow"),
    ],
)
def test_what_cannot_be_stated_is_said(inputs: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        certattn.generate("flow-trajectory", tmp_path / "c.yaml", **{"given": PLANE, **inputs})
    assert not (tmp_path / "c.yaml").exists()


def test_what_is_not_reached_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow_trajectory, "MOST_STEPS", 5)
    with pytest.raises(NotProvedError, match=r"in 5 steps the flow does not come within.*or a time \(--time\)$"):
        certattn.generate("flow-trajectory", tmp_path / "c.yaml", given=PLANE, within="1e-9")
    with pytest.raises(NotProvedError, match=r"in 5 steps .*, or a higher order than 10, or none \(--order\)$"):
        certattn.generate("flow-trajectory", tmp_path / "c.yaml", given=PLANE, within="1e-9", order=10)
    monkeypatch.setattr(flow_trajectory, "_BITS", (64,))
    with pytest.raises(NotProvedError, match=r"not enclosed as narrowly.*a larger radius \(--radius\)$"):
        certattn.generate("flow-trajectory", tmp_path / "c.yaml", given=PLANE, times=["1"])
    with pytest.raises(NotProvedError, match=r"not enclosed as narrowly.*or none \(--order\)$"):
        certattn.generate("flow-trajectory", tmp_path / "c.yaml", given=PLANE, times=["1"], order=10)


def test_steps_that_were_not_taken_are_not_said_to_be(tmp_path: Path) -> None:
    """It stopped after few steps, where 96 bits enclose no more."""
    with pytest.raises(NotProvedError, match="as far as it is enclosed with 96 bits the flow does not come within"):
        certattn.generate("flow-trajectory", tmp_path / "c.yaml", given=PLANE, within="1e-30")


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (
            ["--time", "4", "--points", "5", "--tube", "--radius", "1e-9", "--plot", "tube.svg", "--across", "0, 1"], 0,
            "drew"),
        (["--time", "1", "--radius", "1e-9", "--plot", "points.png", "--across", "norm"], 0, "drew points.png"),
        (["--time", "1", "--radius", "1e-9", "--plot", "p.svg", "--across", "2, 0"], 2, "A has no entry 2, 0"),
        (["--time", "1", "--plot", "p.svg", "--across", "first"], 2, "expected norm, or a row and a column"),
        (["--time", "1", "--plot", "p.txt"], 2, "a figure ends in"),
    ],
)  # fmt: skip
def test_the_command_and_its_figure(
    options: list[str], status: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("flow.yaml").write_text("covariance: [[1, 1/2], [1/2, 5/4]]\nstart: {alpha: 1/2, P: [[3/5, 0], [0, 4/5]]}\n")
    done = CliRunner().invoke(commands, ["flow-trajectory", "flow.yaml", "-o", "c.yaml", *options])
    text = done.output + str(done.exception or "")
    assert (done.exit_code == 0) is (status == 0), text
    assert said in text
    if status == 0:
        figure = Path(options[options.index("--plot") + 1])
        assert figure.stat().st_size > 5000
