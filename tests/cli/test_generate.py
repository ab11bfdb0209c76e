"""`certattn generate`: from arrays and laws on the command line to certificates that verify."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from generating import refuses, states

import certattn

Run = Callable[..., Any]

LAW = "law: {kind: gaussian, mean: [0, 1], covariance: [[1, 1/2], [1/2, 1]]}\nV: [[1, 0]]\n"
AFFINE = "kind: affine\nmatrix: [[1, 0], [0, 1], [1, 1]]\noffset: [0, 1/3, 0]\nscale: 1/sqrt(2)\n"
MOMENTS = "kind: law\nlaw: {kind: box, sizes: [1, 1, 1, 1, 1]}\n"


def deviation(run: Run, *arguments: str | Path) -> Any:
    return run("generate", "output-deviation", *arguments)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -- output-deviation


def test_generate_says_what_was_written_and_what_to_do_next(certattn_run: Run, head: Path) -> None:
    done = deviation(certattn_run, head, "-o", "cert.yaml", "--scale", "1/sqrt(32)", "--queries", "0:3")
    assert done.status == 0
    first, *statement, last = done.out.splitlines()
    assert first == "wrote cert.yaml"
    assert " ".join(statement).startswith("For each of 3 queries and a prompt of 6 tokens")
    assert last == "now prove it: certattn check cert.yaml"
    assert done.err == ""
    assert certattn_run("check", "cert.yaml").status == 0


@pytest.mark.parametrize(
    "options",
    [
        [], ["--norm", "linf"], ["--per-query"], ["--at-most", "99/7"], ["--queries", "1:2"], ["--scale", "-0x1p-3"],
        ["--data", "copy"], ["--data", "reference"], ["--note", "for you"],
        ["--limit", "affine.yaml"], ["--limit", "law.yaml", "--norm", "linf"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_every_option_gives_a_certificate_that_verifies(
    certattn_run: Run, head: Path, folder: Path, options: list[str]
) -> None:
    (folder / "affine.yaml").write_text(AFFINE)
    (folder / "law.yaml").write_text(MOMENTS)
    assert deviation(certattn_run, head, "-o", "cert.yaml", *options).status == 0
    assert certattn_run("check", "cert.yaml").status == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--queries", "1:2", "--radius", "1/8"], "within l2 distance 0.125 of the point head.npz[queries], rows 1:2"),
        (["--centre", "1/2, -0.25", "--radius", "0.1"], "within l2 distance 0.1 of (0.5, -0.25)"),
        (["--box", "-1/8:1/8, 0"], "the queries in the box from (-0.125, 0) to (0.125, 0)"),
        (["--box", " 0 : 0.1 ,-0.1:0 ", "--norm", "linf"], "the queries in the box from (0, -0.1) to (0.1, 0)"),
        (["--queries", "0:3", "--hull"], "the convex combinations of 3 queries"),
        (["--hull", "--cells", "1000"], "the convex combinations of 4 queries"),
        (["--region", "region.yaml"], "the queries in the box from (0, 0) to (1/3, 0)"),
        (["--box", "0:1/8, 0:1/8", "--lower-bound"], "for every query and at least"),
        (["--box", "0:1/8, 0:1/8", "--at-most", "99"], "is at most 99 for every query"),
        (["--box", "0:1/8, 0", "--limit", "affine.yaml", "--cells", "3"], "the affine map"),
    ],
    ids=lambda item: " ".join(item) if isinstance(item, list) else "",
)
def test_every_way_to_name_a_region_gives_a_certificate_that_verifies(
    certattn_run: Run, head: Path, folder: Path, options: list[str], words: str
) -> None:
    (folder / "region.yaml").write_text("kind: box\nlower: [0, 0]\nupper: [1/3, 0]\n")
    (folder / "affine.yaml").write_text(AFFINE)
    # Scores of about 1, so that the regions are not too large.
    done = deviation(certattn_run, head, "-o", "cert.yaml", "--scale", "1/16", *options)
    assert done.status == 0, done.err
    assert words in " ".join(done.out.split())
    assert certattn_run("check", "cert.yaml").status == 0


def test_a_region_that_cannot_be_done_says_what_can(certattn_run: Run, head: Path, folder: Path) -> None:
    ball = ["--centre", "0, 0", "--radius", "1", "--scale", "1/2"]
    done = deviation(certattn_run, head, "-o", "cert.yaml", *ball, "--cells", "1", "--at-most", "0.25")
    assert done.status == 1
    assert done.err == (
        "certattn: at_most 0.25 could not be proved with 1 cells: about 0.978130 can, and some query of the region "
        "deviates by about 0.241587. More cells may do (--cells)\n"
    )
    done = deviation(certattn_run, head, "-o", "cert.yaml", *ball, "--at-most", "0.2")
    assert (done.status, done.out) == (1, "")
    assert "at_most 0.2 is too small: some query of the region deviates by about 0.244498" in done.err
    done = deviation(certattn_run, head, "-o", "cert.yaml", *ball[:2], "--radius", "1e9")
    assert done.status == 1
    assert "the region is too large, or needs more cells (--cells)" in done.err
    assert files(folder) == ["head.npz"]


def test_a_name_for_the_shell(certattn_run: Run, head: Path) -> None:
    done = deviation(certattn_run, head, "-o", "my cert.yaml")
    assert done.out.endswith("certattn check 'my cert.yaml'\n")


def test_a_name_that_looks_like_an_option(certattn_run: Run, head: Path) -> None:
    done = deviation(certattn_run, head, "-o", "-x.yaml")
    assert done.out.startswith("wrote -x.yaml\n")
    assert done.out.endswith("certattn check ./-x.yaml\n")
    assert certattn_run("check", "./-x.yaml").status == 0


def test_a_certificate_that_is_there_is_overwritten(certattn_run: Run, head: Path, folder: Path) -> None:
    (folder / "c.yaml").write_text("something else\n")
    assert deviation(certattn_run, head, "-o", "c.yaml").status == 0
    assert certattn_run("check", "c.yaml").status == 0


# What a file holds beside its queries -> the array that settles what is meant, and what then is given.
AMBIGUOUS = {
    ("keys", "values", "tokens"): {"keys": ["keys", "values"], "tokens": ["tokens"]},
    ("tokens", "U", "K"): {"K": ["tokens", "K"], "U": ["tokens", "U"]},
    ("tokens", "U", "Q", "V"): {"Q": ["tokens", "Q", "V"], "U": ["tokens", "U", "V"]},
    ("keys", "values", "tokens", "V"): {"keys": ["keys", "values"], "V": ["tokens", "V"]},
}


@pytest.mark.parametrize("names", AMBIGUOUS, ids=", ".join)
def test_a_file_that_could_mean_two_prompts_is_asked_about(
    certattn_run: Run, folder: Path, names: tuple[str, ...]
) -> None:
    arrays = {name: np.eye(2) for name in (*names, "queries")}
    np.savez(folder / "p.npz", **arrays)  # type: ignore[arg-type]
    done = deviation(certattn_run, "p.npz", "-o", "c.yaml")
    assert (done.status, files(folder)) == (2, ["p.npz"])
    assert "p.npz holds " in done.err
    first = next(iter(AMBIGUOUS[names]))
    assert f"such as --array {first}={first}, or remove the others from the file" in done.err
    for name, given in AMBIGUOUS[names].items():
        assert deviation(certattn_run, "p.npz", "-o", "c.yaml", "--array", f"{name}={name}").status == 0
        stated = certattn.load("c.yaml").plain["given"]
        assert set(stated) == {*given, "queries", "scale", "limit"}


def test_arrays_that_are_named_are_used(certattn_run: Run, folder: Path) -> None:
    arrays = {name: np.eye(2) for name in ("keys", "values", "queries", "tokens", "V")}
    np.savez(folder / "p.npz", **arrays)  # type: ignore[arg-type]
    done = deviation(certattn_run, "p.npz", "-o", "c.yaml", "--array", "keys=keys", "--array", "V=V")
    assert (done.status, files(folder)) == (2, ["p.npz"])
    assert "the arrays V, keys do not go together" in done.err


def test_arrays_by_name_from_safetensors(certattn_run: Run, folder: Path) -> None:
    rng = np.random.default_rng(5)
    header, body = {}, b""
    for name, shape in {"l0.k": (4, 2), "l0.v": (4, 3), "l0.q": (2, 2)}.items():
        data = rng.normal(size=shape).astype("<f2").tobytes()
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body)
    names = ["--array", "keys=l0.k", "--array", "values=l0.v", "--array", "queries=l0.q"]
    assert deviation(certattn_run, "model.safetensors", *names, "-o", "cert.yaml").status == 0
    assert certattn_run("check", "cert.yaml").status == 0


def test_tokens_with_weights(certattn_run: Run, folder: Path) -> None:
    rng = np.random.default_rng(6)
    arrays = {"tokens": (5, 3), "K": (2, 3), "Q": (2, 2), "V": (1, 3), "queries": (2, 2)}
    np.savez(folder / "p.npz", **{name: rng.normal(size=shape) for name, shape in arrays.items()})  # type: ignore[arg-type]
    (folder / "limit.yaml").write_text("kind: law\nlaw: {kind: rademacher, sizes: [1, 1, 1]}\n")
    assert deviation(certattn_run, "p.npz", "-o", "cert.yaml", "--limit", "limit.yaml").status == 0
    assert certattn_run("check", "cert.yaml").status == 0


def test_the_output_in_another_folder(certattn_run: Run, head: Path, folder: Path) -> None:
    (folder / "out").mkdir()
    assert deviation(certattn_run, "head.npz", "-o", "out/cert.yaml").status == 0
    assert files(folder / "out") == ["cert.npz", "cert.yaml"]
    assert certattn_run("check", "out").status == 0
    refused = deviation(certattn_run, "head.npz", "-o", "out/other.yaml", "--data", "reference")
    assert refused.status == 2
    assert "--data copy" in refused.err
    again = deviation(certattn_run, "head.npz", "-o", "out/cert.yaml", "--norm", "linf")
    assert again.status == 0
    assert certattn_run("check", "out").status == 0


def test_a_bound_that_is_too_small_is_not_written(certattn_run: Run, head: Path, folder: Path) -> None:
    done = deviation(certattn_run, head, "-o", "cert.yaml", "--at-most", "1e-9")
    assert done.status == 1
    assert "certattn: at_most 1e-9 is too small: query" in done.err
    assert files(folder) == ["head.npz"]


REFUSED = [
    (["missing.npz", "-o", "c.yaml"], "missing.npz: no such file or directory"),
    (["head.npz", "-o", ""], "'.' is no name of a file; expected one such as certificate.yaml"),
    (["head.npz", "-o", "nowhere/c.yaml"], "nowhere: no such folder"),
    (["head.npz", "-o", "head.npz"], "a certificate is a YAML file"),
    (["head.npz", "-o", "c.safetensors"], "a certificate is a YAML file"),
    (["head.npz", "-o", "/dev/null"], "something that is not a file"),
    (["head.npz", "-o", "link.yaml"], "a link would be replaced"),
    (["head.npz", "-o", "c.yaml", "--array", "keys"], "expected FIELD=NAME"),
    (["head.npz", "-o", "c.yaml", "--array", "keys=k"], "no array 'k'; it holds keys, values, queries"),
    (["head.npz", "-o", "c.yaml", "--array", "kees=keys"], "unknown arrays kees"),
    (["head.npz", "-o", "c.yaml", "--queries", "3:9"], "rows among the 4"),
    (["head.npz", "-o", "c.yaml", "--scale", "pi"], "--scale pi"),
    (["head.npz", "-o", "c.yaml", "--limit", "missing.yaml"], "missing.yaml\n"),
    (["head.npz", "-o", "c.yaml", "--limit", "missing.yaml"], "expected: a readable YAML file\n"),
    (["head.npz", "-o", "c.yaml", "--at-most", "1e30000"], "the exponent '30000'; the limit is 20000\n"),
    (["head.npz", "-o", "limit.yaml", "--limit", "limit.yaml"], "limit.yaml is an input"),
    (["head.npz", "-o", "c.yaml", "--limit", "limit.yaml"], "limit.yaml:2: matrix\n"),
    (["head.npz", "-o", "c.yaml", "--radius", "1", "--queries", "7:8"], "rows among the 4"),
    (["head.npz", "-o", "c.yaml", "--centre", "1, 2"], "whose radius is missing: --radius R"),
    (["head.npz", "-o", "c.yaml", "--centre", "1", "--radius", "1"], "c.yaml (not written): given.region.centre"),
    (["head.npz", "-o", "c.yaml", "--centre", "1, x", "--radius", "1"], "given.region.centre[1]"),
    (["head.npz", "-o", "c.yaml", "--box", "0:1"], "given.region.lower"),
    (["head.npz", "-o", "c.yaml", "--box", "0:1:2, 0"], "expected an interval A:B or a number for each coordinate"),
    (["head.npz", "-o", "c.yaml", "--box", "1:0, 0"], "not below the lower ones"),
    (["head.npz", "-o", "c.yaml", "--box", ""], "given.region.lower[0]"),
    (
        ["head.npz", "-o", "c.yaml", "--box", "0, 0", "--hull"],
        "--box and --hull each describe a region; expected one of them",
    ),
    (["head.npz", "-o", "c.yaml", "--box", "0, 0", "--queries", "0:1"], "a region does not use the listed queries"),
    (["head.npz", "-o", "c.yaml", "--hull", "--per-query"], "per_query is for listed queries"),
    (["head.npz", "-o", "c.yaml", "--cells", "7"], "for a region of queries; none is given"),
    (["head.npz", "-o", "c.yaml", "--hull", "--cells", "9999"], "expected 1 to 4096"),
    (["head.npz", "-o", "c.yaml", "--region", "missing.yaml"], "missing.yaml"),
    (["head.npz", "-o", "c.yaml", "--region", "limit.yaml"], "limit.yaml:1: kind\n"),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED, ids=lambda x: " ".join(x) if isinstance(x, list) else "")
def test_refusals_say_where_and_leave_nothing(
    certattn_run: Run, head: Path, folder: Path, arguments: list[str], words: str
) -> None:
    (folder / "limit.yaml").write_text(AFFINE.replace("[[1, 0], [0, 1], [1, 1]]", "[[1]]"))
    (folder / "link.yaml").symlink_to("limit.yaml")
    done = deviation(certattn_run, *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("certattn: ")
    assert words in done.err
    assert "--max" not in done.err  # generate has no such options
    assert files(folder) == ["head.npz", "limit.yaml", "link.yaml"]
    assert (folder / "link.yaml").is_symlink()


@pytest.mark.parametrize(
    "arguments", [["head.npz"], ["-o", "c.yaml"], ["head.npz", "-o", "c.yaml", "--norm", "l1"], ["head.npz", "-o", "."]]
)
def test_usage_errors(certattn_run: Run, head: Path, arguments: list[str]) -> None:
    done = deviation(certattn_run, *arguments)
    assert done.status == 2
    assert done.err.startswith("Usage: certattn generate output-deviation")


def test_an_existing_certificate_survives_a_failure(certattn_run: Run, head: Path, folder: Path) -> None:
    (folder / "cert.yaml").write_text("mine\n")
    assert deviation(certattn_run, head, "-o", "cert.yaml", "--at-most", "0").status == 1
    assert (folder / "cert.yaml").read_text() == "mine\n"
    assert files(folder) == ["cert.yaml", "head.npz"]


def test_masks_and_relative_bounds_are_stated(generate: Run, head: Path) -> None:
    options = ["--causal", "3", "--queries", "0:4", "--relative", "--per-query"]
    assert generate("output-deviation", head, *options).status == 0
    plain: Any = certattn.load("made.yaml").plain
    assert plain["given"]["causal"] == "3"
    assert set(plain["asserts"]["deviation"]) == {"norm", "at_most", "relative_at_most", "per_query"}
    assert set(plain["asserts"]["deviation"]["per_query"]) == {"at_most", "relative_at_most"}
    assert certattn.check("made.yaml").verdict is certattn.Verdict.VERIFIED


test_masks_that_make_no_sense_are_refused = refuses(
    "output-deviation",
    [
        (["head.npz", "--causal", "4"], "at most 3, so that the last query sees tokens that are there"),
        (["head.npz", "--relative", "--radius", "1", "--queries", "0:1"], "relative is for listed queries"),
    ],
    "head",
    status=2,
)


# -- infinite-prompt-operator


test_operators_verify = states(
    "infinite-prompt-operator",
    [
        ([LAW], ""),
        ([LAW, "--query", "1, 1/2", "--query", "0,-2", "--radius", "1e-30"], "up to 1e-30"),
        (["law: {kind: rademacher, sizes: [1, 2]}\nscale: sqrt(2)\n"], ""),
        (
            ["law: {kind: atoms, points: [[0, 1], [1, 0]], weights: [1/3, 2/3]}\nU: [[1, 0], [0, 1]]\n", "--note", "n"],
            "",
        ),
        ([LAW + "queries: {mean: [0, 0], covariance: [[1, 0], [0, 1]]}\n"], ""),
    ],
)

test_bad_laws_are_blamed_on_their_file = refuses(
    "infinite-prompt-operator",
    [
        ([LAW, "--query", "1"], "has 1 number, expected 2"),
        ([LAW, "--query", "1,x"], "query: 'x'"),
        ([LAW, "--query", "1,1e20001"], "query: the exponent '20001'; the limit is 20000, expected an exact number"),
        ([LAW, "--query", ""], "expected 2"),
        ([LAW, "--query", "1,2", "--radius", "0"], "positive"),
        (["V: [[1]]\n"], "task.yaml found: no 'law'"),
        ([LAW.replace("1/2], [1/2", "2], [2")], "task.yaml: law.covariance found"),
        ([LAW + "W: 1\n"], "task.yaml: W found"),
        (["\n"], "task.yaml found"),
        (["- 1\n"], "task.yaml:1"),
        (["law: [\n"], "task.yaml:3"),
    ],
    status=2,
)


@pytest.mark.parametrize("claim", ["infinite-prompt-operator", "softmax-mean"])
def test_the_file_that_is_read_is_not_overwritten(certattn_run: Run, folder: Path, claim: str) -> None:
    (folder / "law.yaml").write_text(LAW)
    done = certattn_run("generate", claim, "law.yaml", "-o", "law.yaml")
    assert (done.status, done.out) == (2, "")
    assert "law.yaml is an input" in done.err
    assert (folder / "law.yaml").read_text() == LAW


# -- output-mean-square

AVERAGED = "law: {kind: gaussian, mean: [0, 1], covariance: [[1, 1/2], [1/2, 1]]}\nlength: 100\n"
RANDOM = AVERAGED + "scale: 1/4\nqueries: {mean: [0, 0], covariance: [[1, 0], [0, 1]]}\n"
BOX = "law: {kind: box, sizes: [1, 2]}\nlength: 500\nquery: [1/2, 0]\nscale: 1/sqrt(2)\n"

test_mean_squares_verify = states(
    "output-mean-square",
    [
        ([AVERAGED + "tilt: [1, 0]\n"], "the mean of |T_L - T|^2"),
        ([AVERAGED + "tilt: [1, 0]\n", "--method", "logistic", "--digits", "4"], "the mean of |T_L - T|^2"),
        ([AVERAGED + "query: [1, 0]\n", "--method", "general", "--t", "1/2", "--rate", "1/4"], "at most"),
        ([BOX, "--note", "n"], "at most"),
        ([BOX.replace("box", "rademacher"), "--digits", "12"], "the mean of sum p_i^2"),
        ([BOX.replace("box", "rademacher").replace("500", "{at_least: 500}")], "at most"),
        ([RANDOM], "and the query"),
        ([RANDOM, "--method", "integral"], "and the query"),
    ],
)

test_bad_prompts_are_refused = refuses(
    "output-mean-square",
    [
        ([AVERAGED + "tilt: [1]\n"], "task.yaml: tilt found"),
        ([AVERAGED], "task.yaml found: no 'query'"),
        ([AVERAGED.replace("100", "0") + "tilt: [1, 0]\n"], "task.yaml: length found"),
        ([AVERAGED + "tilt: [1, 0]\n", "--method", "integral"], "expected exact or logistic or general"),
        ([AVERAGED + "tilt: [1, 0]\n", "--method", "guess"], "guess"),
        ([AVERAGED + "tilt: [1, 0]\n", "--method", "general", "--t", "1"], "expected 0 < t < 1"),
        ([AVERAGED + "tilt: [1, 0]\n", "--digits", "0"], "digits"),
    ],
    status=2,
)


@pytest.mark.parametrize(
    "options", [[], ["--tail"], ["--at-most", "2.3e-16"], ["--note", "for you"]], ids=lambda options: " ".join(options)
)
def test_exponentials_verify(certattn_run: Run, folder: Path, options: list[str]) -> None:
    done = certattn_run("generate", "binary64-exponential", "-o", "cert.yaml", *options)
    assert done.status == 0, done.err
    assert done.out.splitlines()[0] == "wrote cert.yaml"
    assert files(folder) == ["cert.yaml", "exponential-table.npy"]
    assert certattn_run("check", "cert.yaml").status == 0


def test_an_exponential_is_not_said_to_be_better_than_it_is(certattn_run: Run, folder: Path) -> None:
    done = certattn_run("generate", "binary64-exponential", "-o", "cert.yaml", "--at-most", "2e-16")
    assert (done.status, done.out) == (1, "")
    assert "too small" in done.err
    done = certattn_run("generate", "binary64-exponential", "-o", "cert.yaml", "--at-most", "little")
    assert (done.status, done.out) == (2, "")
    assert files(folder) == []


def test_the_same_from_the_command_line_and_from_python(certattn_run: Run, folder: Path) -> None:
    (folder / "law.yaml").write_text(LAW)
    certattn_run("generate", "infinite-prompt-operator", "law.yaml", "-o", "cert.yaml")
    given: Any = certattn.load("cert.yaml").plain["given"]
    certattn.generate("infinite-prompt-operator", "other.yaml", given=given)
    assert (folder / "cert.yaml").read_bytes() == (folder / "other.yaml").read_bytes()


CLAIM_COMMANDS = ["output-deviation", "infinite-prompt-operator", "binary64-exponential", "softmax-mean"]


@pytest.mark.parametrize("claim", CLAIM_COMMANDS)
def test_help_has_examples(certattn_run: Run, claim: str) -> None:
    done = certattn_run("generate", claim, "--help")
    assert done.status == 0
    assert f"  certattn generate {claim} " in done.out


# -- softmax-mean

PROMPT = "keys: [[0, 1], [1, 0]]\nvalues: [[1], [2]]\nqueries: [[1, 1/2]]\nscale: 1/sqrt(2)\n"


@pytest.mark.parametrize(
    "options",
    [
        [], ["--covariance"], ["--eigenvalues"], ["--log-normaliser"], ["--covariance", "--of", "values-keys"],
        ["--covariance", "--eigenvalues", "--log-normaliser", "--of", "keys", "--per-query"],
        ["--queries", "1:3"], ["--scale", "1/sqrt(2)"], ["--digits", "5"], ["--radius", "1e-20"],
        ["--data", "copy"], ["--note", "for you"], ["--array", "values=keys"],
        ["--entropy", "--top", "1", "--top", "2", "--per-query"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_means_verify(certattn_run: Run, head: Path, options: list[str]) -> None:
    done = certattn_run("generate", "softmax-mean", head, "-o", "mean.yaml", *options)
    assert done.status == 0, done.err
    assert done.out.startswith("wrote mean.yaml\nFor each of ")
    assert done.out.endswith("now prove it: certattn check mean.yaml\n")
    assert certattn_run("check", "mean.yaml").status == 0


def test_means_of_a_prompt_written_out(certattn_run: Run, folder: Path) -> None:
    (folder / "prompt.yaml").write_text(PROMPT)
    done = certattn_run("generate", "softmax-mean", "prompt.yaml", "-o", "mean.yaml", "--covariance")
    assert done.status == 0, done.err
    assert files(folder) == ["mean.yaml", "prompt.yaml"]
    assert certattn_run("check", "mean.yaml").status == 0


test_bad_prompts_are_blamed_on_their_file = refuses(
    "softmax-mean",
    [
        ([PROMPT, "--scale", "2"], "with a whole prompt, leave out"),
        ([PROMPT, "--queries", "0:1"], "with a whole prompt, leave out"),
        ([PROMPT, "--array", "keys=k"], "with a whole prompt, leave out"),
        ([PROMPT, "--radius", "0"], "expected a positive number"),
        ([PROMPT, "--eigenvalues", "--of", "values-keys"], "has no eigenvalues"),
        ([PROMPT.replace("[[1], [2]]", "[[1]]")], "task.yaml: values found"),
        ([PROMPT + "limit: {kind: empirical}\n"], "task.yaml: limit found"),
        (["\n"], "task.yaml found"),
    ],
    status=2,
)


@pytest.mark.parametrize("options", [["--digits", "0"], ["--of", "queries"], ["--covariance", "values"]])
def test_means_usage_errors(certattn_run: Run, head: Path, options: list[str]) -> None:
    done = certattn_run("generate", "softmax-mean", head, "-o", "mean.yaml", *options)
    assert done.status == 2
    assert done.err.startswith("Usage: certattn generate softmax-mean")
