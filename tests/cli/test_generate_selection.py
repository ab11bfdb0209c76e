"""`certattn generate` for optimal tokens and regularisation paths: from files to certificates that verify."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
DESCENT = """keys: [[[-0.1, 1], [1, 0], [0, 0]]]
scores: [[1, 0.9, 0.9]]
loss: logistic
descent: {rule: gradient, step: 1}
start: [0, -1.5]
"""
TOKENS = "keys: [[[-3, 1], [0, 0]], [[1, 0], [0, 0]]]\nscores: [[1, 0], [1, 0]]\n"


@pytest.fixture
def tokens(folder: Path) -> Path:
    path = folder / "tokens.yaml"
    path.write_text(TOKENS)
    return path


def test_optimal_tokens(certattn_run: Run, tokens: Path) -> None:
    done = certattn_run("generate", "token-optimality", tokens, "--indices", "1, 0", "--no-all", "-o", "made.yaml")
    assert done.status == 0, done.err
    assert "locally optimal: (1, 0)" in " ".join(done.out.split())
    assert "selections, the locally" not in done.out
    assert certattn_run("check", "made.yaml").status == 0


def test_a_path(certattn_run: Run, tokens: Path) -> None:
    tokens.write_text(TOKENS + "loss: exponential\n")
    done = certattn_run("generate", "regularization-path", tokens, "--radius", "30", "-o", "made.yaml", "--note", "x")
    assert done.status == 0, done.err
    assert "for R = 30" in " ".join(done.out.split())
    assert certattn_run("check", "made.yaml").status == 0


@pytest.mark.parametrize("text", ["a", "1.5, 0", "-1, 0", "1,,0", ""])
def test_indices_that_are_none(certattn_run: Run, tokens: Path, text: str) -> None:
    done = certattn_run("generate", "token-optimality", tokens, f"--indices={text}", "-o", "made.yaml")
    assert done.status == 2
    assert "expected indices counted from 0" in done.err


def test_errors_name_the_file(certattn_run: Run, tokens: Path) -> None:
    tokens.write_text(TOKENS)
    done = certattn_run("generate", "regularization-path", tokens, "-o", "made.yaml")
    assert done.status == 2
    assert "tokens.yaml" in done.err
    assert "loss" in done.err


@pytest.mark.parametrize("norm", ["inf", "infinity"])
def test_infinity_has_two_names_on_the_command_line_and_one_in_files(
    certattn_run: Run, tokens: Path, folder: Path, norm: str
) -> None:
    tokens.write_text(TOKENS + "loss: exponential\n")
    done = certattn_run("generate", "regularization-path", tokens, "--norm", norm, "-o", "path.yaml")
    assert done.status == 0, done.err
    problem = folder / "problem.yaml"
    problem.write_text("keys: [[[0, 0], [1, 1]]]\nindices: [1]\n")
    done = certattn_run("generate", "max-margin", problem, "--norm", norm, "-o", "margin.yaml")
    assert done.status == 0, done.err
    for made in ("path.yaml", "margin.yaml"):
        assert "\n  norm: infinity\n" in (folder / made).read_text()
        assert certattn_run("check", made).status == 0
    problem.write_text("keys: [[[0, 0], [1, 1]]]\nindices: [1]\nnorm: inf\n")
    done = certattn_run("generate", "max-margin", problem, "-o", "margin.yaml")
    assert done.status == 2
    assert "expected: a number l >= 1, 'infinity' or 'nuclear'" in done.err


REGION = (
    TOKENS
    + """loss: logistic
descent: {rule: flow}
region: {corner: [3, 0], sides: [[2, 0], [0, 1]]}
"""
)


def test_a_region_of_starts_is_of_another_claim(generate: Run) -> None:
    done = generate("selection-direction", REGION)
    assert done.status == 2
    assert "task.yaml:5: region\n" in done.err
    assert "hint:     certattn generate selection-basins" in done.err


def test_what_is_no_map_says_where_and_what_to_do(generate: Run) -> None:
    done = generate("selection-basins", REGION)
    assert done.status == 2
    assert "task.yaml:4: descent\n  found:    the rule flow\n  expected: the rule gradient or normalised" in done.err
    assert "small step" in done.err
    parallel = REGION.replace("rule: flow", "rule: gradient, step: 4").replace("[0, 1]]}", "[4, 0]]}")
    done = generate("selection-basins", parallel)
    assert "task.yaml:5: region.sides\n  found:    s = (2, 0) and t = (4, 0)\n" in done.err


def test_a_whole_certificate_is_not_what_stands_under_given(certattn_run: Run, tokens: Path) -> None:
    assert certattn_run("generate", "token-optimality", tokens, "-o", "made.yaml").status == 0
    done = certattn_run("generate", "token-optimality", "made.yaml", "-o", "again.yaml")
    assert done.status == 2
    expected = "expected a file with what stands under its given. To prove it: certattn check made.yaml"
    assert done.err == f"certattn: made.yaml is a whole certificate; {expected}\n"


def test_a_selection_twice_is_refused(certattn_run: Run, tokens: Path, folder: Path) -> None:
    twice = ["--indices", "1, 0", "--indices", "1, 0"]
    done = certattn_run("generate", "token-optimality", tokens, *twice, "-o", "made.yaml")
    assert done.status == 2
    assert "every selection at most once" in done.err
    assert not (folder / "made.yaml").exists()


def test_a_figure_of_a_path_is_mentioned(certattn_run: Run, tokens: Path, folder: Path) -> None:
    tokens.write_text(TOKENS + "loss: exponential\n")
    done = certattn_run("generate", "regularization-path", tokens, "--plot", "path.png", "-o", "made.yaml")
    assert done.out.endswith("drew path.png\n")
    assert (folder / "path.png").is_file()


def test_bounds_that_say_nothing_are_named(certattn_run: Run, folder: Path) -> None:
    text = "tokens: [[[5/2, 1, 1/4], [1, 9/4, -3/2]], [[-3/4, -3/4, 3/2], [3/4, 1, 0]], [[3/2, -11/4, 3/4]]]\n"
    text += "v: [-5/4, 11/4, 0]\nW: [[-1, 1/2, 2]]\nloss: exponential\n"
    (folder / "late.yaml").write_text(text + "descent: {rule: gradient, step: 1/10}\nstart: [3]\n")
    command = ("generate", "selection-direction", "late.yaml", "--angle", "1000000000000", "--steps", "50", "-o")
    done = certattn_run(*command, "made.yaml")
    assert done.status == 0, done.err
    assert "left out --angle 1000000000000" in done.out
    assert "left out the rate" in done.out
    done = certattn_run(*command, "again.yaml", "--late-rate")
    assert done.status == 0, done.err
    assert "left out the rate" not in done.out


def test_a_descent_is_drawn(generate: Run, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    done = generate("selection-direction", DESCENT, "--plot", "made.svg")
    assert done.status == 0, done.err
    assert done.out.splitlines()[-1] == "drew made.svg"
    assert "stated for all later steps" in (folder / "made.svg").read_text()
    assert "a figure ends in" in generate("selection-direction", DESCENT, "--plot", "made.gif").err


def test_keys_on_a_line_are_drawn_by_their_angle(generate: Run) -> None:
    pytest.importorskip("matplotlib")
    text = DESCENT.replace("[[-0.1, 1], [1, 0], [0, 0]]", "[[1], [0], [-1]]").replace("[0, -1.5]", "[0]")
    done = generate("selection-direction", text, "--plot", "made.svg")
    assert done.status == 0
    assert Path("made.svg").read_text().startswith("<?xml")
