"""`certattn generate descent-trajectory` in Python: what is drawn, what is found, what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certattn
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import MalformedError, NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.training.descent_trajectory import GRONWALL, read, tube_steps
from certattn.provers.figures import canvas
from certattn.provers.training import descent_plot, descent_runs
from certattn.provers.training.context_prompts import Drawing
from certattn.provers.training.descent_plot import draw_certificate

PLANE: dict[str, Any] = {
    "model": "regression",
    "covariance": [["1", "1/2"], ["1/2", "5/4"]],
    "start": {"A": [["1/4", "0"], ["0", "1/4"]], "b": "1/4"},
    "step": "1/100",
    "steps": "6",
}
SIGNS: dict[str, Any] = {
    "model": "attention",
    "laws": [{"kind": "rademacher", "sizes": ["1", "1"]}],
    "start": {"U": [["1/2", "0"], ["0", "1/4"]], "V": [["1", "0"], ["0", "1"]]},
    "step": "1/20",
    "steps": "3",
}


def attention_arrays(count: int = 2, length: int = 8) -> dict[str, np.ndarray[Any, Any]]:
    random = np.random.default_rng(0)
    tokens = random.choice([-1.0, 1.0], (count * length, 2))
    queries = random.choice([-1.0, 1.0], (count, 2))
    return {"tokens": tokens, "queries": queries, "targets": queries / 2}


def stated(path: Path) -> Any:
    return read(certattn.load(path))


@pytest.mark.parametrize("tasks", [True, False])
def test_drawn_prompts(tmp_path: Path, tasks: bool) -> None:
    out = tmp_path / "descent.yaml"
    steps: list[tuple[int, int]] = []
    certattn.generate(
        "descent-trajectory",
        out,
        given=PLANE,
        draw=Drawing(4, 64, 3),
        tasks=tasks,
        at="infinite",
        checkpoints=[0, 3],
        gronwall=2,
        said=lambda done, of: steps.append((done, of)),
    )
    report = certattn.check(out)
    assert report.verdict is Verdict.VERIFIED
    assert steps[-1] == (6, 6)
    plain = certattn.load(out).plain
    assert report.bits == int(plain["witness"]["bits"])
    assert ("tasks" in plain["given"]) is tasks
    assert [checkpoint["step"] for checkpoint in plain["asserts"]["checkpoints"]] == ["0", "3", "6"]
    found = stated(out)
    assert tube_steps(found.asserts[GRONWALL], found.descents) == 2
    # The bound that is stated of the last distance is no more than 1.01 times what is below it.
    last = plain["asserts"]["checkpoints"][-1]["distance"]
    assert float(last["at_most"]) <= 1.001 * float(last["at_least"])


def test_two_certificates_of_one_seed_are_the_same(tmp_path: Path) -> None:
    made = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        certattn.generate("descent-trajectory", tmp_path / name / "d.yaml", given=PLANE, draw=Drawing(2, 16))
        made.append((tmp_path / name / "d.yaml").read_bytes())
    assert made[0] == made[1]


def test_attention_to_arrays(tmp_path: Path) -> None:
    out = tmp_path / "signs.yaml"
    certattn.generate("descent-trajectory", out, given={**SIGNS, **attention_arrays()})
    assert certattn.check(out).verdict is Verdict.VERIFIED
    draw_certificate(certattn.load(out), tmp_path / "signs.svg")
    assert (tmp_path / "signs.svg").stat().st_size > 1000


def test_the_figure_has_whole_steps_and_explains_its_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It had ticks at half steps, and triangles that nothing explained."""
    seen: dict[str, Any] = {}

    @contextmanager
    def watched(path: Path, size: tuple[float, float]) -> Iterator[tuple[Any, Any]]:
        with canvas(path, size) as (figure, axes):
            yield figure, axes
            seen["ticks"] = list(axes.get_xticks())
            seen["legend"] = [text.get_text() for text in axes.get_legend().get_texts()]
            seen["marked"] = [line.get_label() for line in axes.get_lines() if line.get_marker() == "^"]

    monkeypatch.setattr(descent_plot, "canvas", watched)
    out = tmp_path / "signs.yaml"
    given = {**SIGNS, "steps": 3}
    certattn.generate("descent-trajectory", out, given={**given, **attention_arrays()}, checkpoints=[0, 2])
    draw_certificate(certattn.load(out), tmp_path / "signs.svg")
    assert all(tick == int(tick) for tick in seen["ticks"])
    assert len(seen["marked"]) == 1
    assert seen["marked"][0].endswith("at least")
    assert set(seen["marked"]) <= set(seen["legend"])


def test_arrays_of_a_file_under_other_names(tmp_path: Path) -> None:
    arrays = attention_arrays()
    np.savez(tmp_path / "p.npz", z=arrays["tokens"], queries=arrays["queries"], targets=arrays["targets"])
    out = tmp_path / "signs.yaml"
    certattn.generate("descent-trajectory", out, given=SIGNS, source=tmp_path / "p.npz", names={"tokens": "z"})
    assert certattn.load(out).plain["given"]["tokens"]["array"] == "z"
    assert certattn.check(out).verdict is Verdict.VERIFIED


def test_no_bits_are_lost_where_descent_contracts(tmp_path: Path) -> None:
    """Naive balls took a bit and more in every step; a step between 1/beta and 2/beta is no exception."""
    out = tmp_path / "long.yaml"
    given = {**PLANE, "step": "1/4", "steps": "400"}
    certattn.generate("descent-trajectory", out, given=given, draw=Drawing(2, 16))
    assert int(certattn.load(out).plain["witness"]["bits"]) == 128
    report = certattn.check(out)
    assert report.verdict is Verdict.VERIFIED
    assert report.bits == 128


def test_more_bits_where_few_are_not_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is made again with more of them, and says how many."""
    monkeypatch.setattr(descent_runs, "_FIRST_BITS", 32)
    out = tmp_path / "again.yaml"
    certattn.generate("descent-trajectory", out, given={**PLANE, "step": "1/4", "steps": "20"}, draw=Drawing(2, 16))
    assert int(certattn.load(out).plain["witness"]["bits"]) > 32
    assert certattn.check(out).verdict is Verdict.VERIFIED


def test_binary64_where_prompts_are_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it states it also proves without balls of more bits; the ends of the last distance are close."""
    monkeypatch.setattr(descent_runs, "_MOST_IN_BALLS", 0)
    out = tmp_path / "fast.yaml"
    certattn.generate("descent-trajectory", out, given={**PLANE, "steps": "40"}, draw=Drawing(8, 200))
    report = certattn.check(out, arithmetic="binary64")
    assert report.verdict is Verdict.VERIFIED
    last = certattn.load(out).plain["asserts"]["checkpoints"][-1]["distance"]
    assert float(last["at_most"]) <= 1.001 * float(last["at_least"])
    # Balls say the same.
    assert certattn.check(out, arithmetic="arb").verdict is Verdict.VERIFIED
    # Less than the last distance is refuted, and more than its lower end.
    text = out.read_text()
    for end, other in (("at_most", "0.9999"), ("at_least", "1.0001")):
        false = str(float(other) * float(last["at_least" if end == "at_most" else "at_most"]))
        out.write_text(text.replace(f"{end}: {last[end]}", f"{end}: {false}"))
        assert certattn.check(out, arithmetic="binary64").verdict is Verdict.REFUTED


def test_both_arithmetics_hold_the_descent_at_many_bits(tmp_path: Path) -> None:
    """Points, risks and gradients of every step, from a start that is no double, and prompts of several lengths."""
    out = tmp_path / "d.yaml"
    given = {**PLANE, "steps": "60", "start": {"A": [["1/3", "0"], ["1/7", "1/4"]], "b": "1/3"}, "step": "1/20"}
    certattn.generate("descent-trajectory", out, given=given, draw=Drawing(6, 40))
    descents = stated(out).descents
    (tier,) = descents.prompts.tiers
    with working_precision(400):
        sharp = list(descents.pairs(60))
    for bits, used in ((96, tier), (64, None)):
        with working_precision(bits):
            found = list(descents.pairs(60, used))
        assert len(found) == len(sharp) == 61
        with working_precision(400):
            for one, other in zip(found, sharp, strict=True):
                for wide, narrow in ((one.finite, other.finite), (one.infinite, other.infinite)):
                    assert (wide.evaluation.risk - narrow.evaluation.risk).contains(0)
                    for x, y in zip(
                        [*wide.point.entries(), *wide.evaluation.gradient.entries()],
                        [*narrow.point.entries(), *narrow.evaluation.gradient.entries()],
                        strict=True,
                    ):
                        assert x.contains(y.mid())
                    assert wide.point.error() < 1e-7


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "drawn and passed": ({"draw": Drawing(2, 8), **attention_arrays()}, "not both"),
    "attention is not drawn": ({"given": SIGNS, "draw": Drawing(2, 8)}, "'regression' only"),
    "no prompts": ({"draw": Drawing(0, 8)}, "at least one of each"),
    "too many numbers": ({"draw": Drawing(10**5, 10**5)}, "at most"),
    "a negative seed": ({"draw": Drawing(2, 8, -1)}, "the seed"),
    "another place": ({"draw": Drawing(2, 8), "at": "both"}, "each, finite, infinite"),
    "a checkpoint after the end": ({"draw": Drawing(2, 8), "checkpoints": [7]}, "between 0 and 6"),
    "a bound of no steps": ({"draw": Drawing(2, 8), "gronwall": 0}, "1 to 6 steps"),
    "a bound of more steps": ({"draw": Drawing(2, 8), "gronwall": 7}, "1 to 6 steps"),
    "labels of attention": ({"given": SIGNS, "labels": np.array([[1]])}, "unknown arrays labels"),
    "names without a file": ({"names": {"tokens": "x"}}, "no file that holds them"),
    "floats": ({"given": {**PLANE, "step": 0.01}, "draw": Drawing(2, 8)}, "the float"),
}


@pytest.mark.parametrize(("inputs", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(inputs: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        certattn.generate("descent-trajectory", tmp_path / "d.yaml", **{"given": PLANE, **inputs})
    assert not (tmp_path / "d.yaml").exists()


def test_bad_numbers_are_named(tmp_path: Path) -> None:
    out, draw = tmp_path / "d.yaml", Drawing(2, 8)
    indefinite = {**PLANE, "covariance": [["1", "2"], ["2", "1"]]}
    with pytest.raises(MalformedError, match="positive definite"):
        certattn.generate("descent-trajectory", out, given=indefinite, draw=draw)
    without = {key: value for key, value in PLANE.items() if key != "covariance"}
    with pytest.raises(MalformedError, match="covariance"):
        certattn.generate("descent-trajectory", out, given=without, draw=draw)
    with pytest.raises(UsageError, match="no prompts; expected --prompts and --length"):
        certattn.generate("descent-trajectory", out, given=PLANE)


def test_no_tube_for_long_steps(tmp_path: Path) -> None:
    given = {**PLANE, "step": "1/4"}
    with pytest.raises(NotProvedError, match="holds its own Gronwall bound of 6 steps"):
        certattn.generate("descent-trajectory", tmp_path / "d.yaml", given=given, draw=Drawing(2, 8), gronwall=6)
    assert list(tmp_path.iterdir()) == []


def test_a_figure_needs_bounds(tmp_path: Path) -> None:
    out = tmp_path / "d.yaml"
    certattn.generate("descent-trajectory", out, given=PLANE, draw=Drawing(4, 64), gronwall=1)
    draw_certificate(certattn.load(out), tmp_path / "d.png")
    text = out.read_text()
    first, last = text.index("  distance:\n    at_most: ["), text.index("  checkpoints:")
    out.write_text(text[:first] + text[last:])
    with pytest.raises(UsageError, match="nothing to draw"):
        draw_certificate(certattn.load(out), tmp_path / "e.png")
