"""The figure of `output-deviation`: what is drawn, beside which bounds, and which query is named."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certattn
from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.attention.output_deviation import THEOREM, AssertedDeviation
from certattn.provers.attention import deviation_plot

COUNT = 9


def certificate(folder: Path, count: int = COUNT, **options: Any) -> certattn.Certificate:
    rng = np.random.default_rng(4)
    arrays = {name: rng.standard_normal((count, 2)).astype(np.float32) for name in ("keys", "values", "queries")}
    return certattn.generate("output-deviation", folder / "c.yaml", **arrays, **options)


def bounded(made: certattn.Certificate, folder: Path, **deviation: Any) -> certattn.Certificate:
    """The same with other bounds."""
    from certattn.writing import to_text

    plain: Any = dict(made.plain)
    return loads(to_text({**plain, "asserts": {"deviation": {"norm": "l2", **deviation}}}), folder / "c.yaml")


def truth(made: certattn.Certificate) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Deviations, and these over the norm of the output, at 200 bits."""
    with working_precision(200):
        problem = THEOREM.read(made)
        pairs = problem.compared(range(problem.count))
    deviations = np.array([float(deviation.mid()) for deviation, _ in pairs])
    with np.errstate(divide="ignore", invalid="ignore"):
        return deviations, deviations / np.array([float(size.mid()) for _, size in pairs])


def numbers(axes: Any) -> list[float]:
    return [float(y) for y in axes.lines[0].get_ydata()]


def named(axes: Any) -> str:
    (text,) = axes.texts
    return str(text.get_text())


@pytest.mark.heavy
def test_relative_bounds_alone_are_drawn_beside_quotients(tmp_path: Path, drawn: list[Any]) -> None:
    made = bounded(certificate(tmp_path, relative=True), tmp_path, relative_at_most="3")
    deviation_plot.draw_certificate(made, BytesIO())
    (axes,) = drawn[0].axes
    _, quotients = truth(made)
    assert np.allclose(numbers(axes), np.sort(quotients), rtol=1e-6)
    assert named(axes) == f"worst: query {quotients.argmax()}"
    assert float(axes.lines[1].get_ydata()[0]) == 3
    assert "T(q)|_{2}" in axes.get_ylabel()
    assert r"\,/\," in axes.get_ylabel()
    (title,) = drawn[0].findobj(
        lambda part: getattr(part, "get_text", str)() == f"{COUNT} queries; limit: linear attention of this prompt"
    )
    assert title is not None


def test_bounds_of_both_kinds_have_a_panel_each(tmp_path: Path, drawn: list[Any]) -> None:
    made = certificate(tmp_path, relative=True, per_query=True)
    deviation_plot.draw_certificate(made, BytesIO())
    deviations, quotients = truth(made)
    stated: Any = made.plain["asserts"]
    above, below = drawn[0].axes
    for axes, values, each in (
        (above, deviations, stated["deviation"]["per_query"]["at_most"]),
        (below, quotients, stated["deviation"]["per_query"]["relative_at_most"]),
    ):
        assert np.allclose(numbers(axes), np.sort(values), rtol=1e-6)
        marks = [float(y) for y in axes.lines[1].get_ydata()]
        assert np.allclose(marks, [float(each[k]) for k in np.argsort(values)], rtol=1e-12)
        assert all(mark >= value for mark, value in zip(marks, numbers(axes), strict=True))
        assert named(axes) == f"worst: query {values.argmax()}"


def test_absolute_bounds_alone_have_the_one_panel(tmp_path: Path, drawn: list[Any]) -> None:
    deviation_plot.draw_certificate(certificate(tmp_path), BytesIO())
    (axes,) = drawn[0].axes
    assert "/" not in axes.get_ylabel()


def test_a_query_without_an_output_is_left_out_of_quotients(tmp_path: Path, drawn: list[Any]) -> None:
    text = (
        "certattn: 1\nclaim: output-deviation\ngiven: {keys: [[1], [0], [3]], values: [[0], [1], [4]], "
        "queries: [[1], [2], [3]], causal: 1, limit: {kind: empirical}}\n"
        "asserts: {deviation: {norm: l2, relative_at_most: 5}}\n"
    )
    deviation_plot.draw_certificate(loads(text, tmp_path / "c.yaml"), BytesIO())
    (axes,) = drawn[0].axes
    assert len(numbers(axes)) == 2
    assert axes.texts


def test_of_many_queries_the_worst_is_drawn_where_doubles_tell_all(
    tmp_path: Path, drawn: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = certificate(tmp_path, count=COUNT, relative=True)
    deviations, quotients = truth(made)
    monkeypatch.setattr(deviation_plot, "_MOST", 2)
    deviation_plot.draw_certificate(made, BytesIO())
    for axes, values in zip(drawn[0].axes, (deviations, quotients), strict=True):
        assert named(axes) == f"worst: query {values.argmax()}"
        assert np.allclose(numbers(axes), np.sort(values[sorted({0, COUNT - 1, int(values.argmax())})]), rtol=1e-6)
    monkeypatch.setattr(AssertedDeviation, "tiers", ())
    deviation_plot.draw_certificate(made, BytesIO())
    for axes, values in zip(drawn[1].axes, (deviations, quotients), strict=True):
        assert named(axes) == f"worst of these: query {max((0, COUNT - 1), key=lambda k: values[k])}"
        assert len(numbers(axes)) == 2
