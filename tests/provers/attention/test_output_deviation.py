"""Generating `output-deviation`: what is written verifies, and nothing is left where nothing is written."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from flint import fmpq

import certattn
from certattn import LimitExceededError, MalformedError, NotProvedError, UsageError, Verdict
from certattn.writing import write_atomically

Arrays = dict[str, np.ndarray[Any, Any]]
Prompt = Callable[..., Arrays]

AFFINE = {"kind": "affine", "matrix": [["1", "0"], ["0", "1/3"], ["1", "1"]], "offset": ["0", "1", "0.5"]}
LAW_OF_PAIRS = {
    "kind": "law",
    "law": {"kind": "gaussian", "mean": ["0"] * 5, "covariance": np.eye(5, dtype=int).astype(str).tolist()},
}


def generate(out: Path, **inputs: Any) -> certattn.Certificate:
    return certattn.generate("output-deviation", out, **inputs)


def save(path: Path, arrays: Arrays) -> None:
    np.savez(path, **arrays)  # type: ignore[arg-type]


def verify(path: Path) -> certattn.Report:
    report = certattn.check(path)
    assert report.verdict is Verdict.VERIFIED, report.reason
    return report


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def head(tmp_path: Path, prompt: Prompt) -> Path:
    save(tmp_path / "head.npz", prompt())
    return tmp_path / "head.npz"


# -- every kind of input verifies


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ">f4", ">f8", "int8", "int32", ">i2", "uint64"])
@pytest.mark.parametrize("data", ["auto", "copy"])
def test_every_number_type(tmp_path: Path, prompt: Prompt, dtype: str, data: str) -> None:
    arrays = {name: abs(array) for name, array in prompt(dtype).items()}
    save(tmp_path / "in.npz", arrays)
    generate(tmp_path / "out.yaml", source=tmp_path / "in.npz", data=data)
    verify(tmp_path / "out.yaml")


def test_arrays_by_keyword(tmp_path: Path, prompt: Prompt) -> None:
    certificate = generate(tmp_path / "a.yaml", **prompt())
    assert certificate.claim == "output-deviation"
    assert files(tmp_path) == ["a.npz", "a.yaml"]
    verify(tmp_path / "a.yaml")


def test_lists_and_fortran_order_by_keyword(tmp_path: Path, prompt: Prompt) -> None:
    arrays = prompt()
    generate(
        tmp_path / "a.yaml",
        keys=arrays["keys"].tolist(),
        values=np.asfortranarray(arrays["values"]),
        queries=arrays["queries"][::-1],
    )
    verify(tmp_path / "a.yaml")


def test_tokens_with_their_weights(tmp_path: Path, tokens: Arrays) -> None:
    generate(tmp_path / "kqv.yaml", **tokens)
    verify(tmp_path / "kqv.yaml")
    U = tokens["K"].T @ tokens["Q"]
    generate(tmp_path / "u.yaml", tokens=tokens["tokens"], queries=tokens["queries"], U=U, V=tokens["V"])
    verify(tmp_path / "u.yaml")
    generate(tmp_path / "plain.yaml", tokens=tokens["tokens"], queries=tokens["tokens"][:2])
    verify(tmp_path / "plain.yaml")


@pytest.mark.parametrize("limit", [AFFINE, LAW_OF_PAIRS], ids=["affine", "law"])
@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_limits_and_norms(tmp_path: Path, head: Path, limit: Any, norm: str) -> None:
    generate(tmp_path / "a.yaml", source=head, limit=limit, norm=norm, scale="1/sqrt(2)", per_query=True)
    verify(tmp_path / "a.yaml")


EXTREMES: dict[str, Callable[[Arrays], Arrays]] = {
    "one token": lambda a: {"keys": a["keys"][:1], "values": a["values"][:1], "queries": a["queries"]},
    "equal scores": lambda a: {**a, "keys": np.ones_like(a["keys"])},
    "no scores": lambda a: {**a, "keys": np.zeros_like(a["keys"])},
    "scores of a million": lambda a: {**a, "keys": 1e6 * a["keys"].astype("f8")},
    "scores of minus a million": lambda a: {**a, "keys": -1e6 * abs(a["keys"].astype("f8"))},
    "huge scores": lambda a: {**a, "keys": 1e300 * a["keys"].astype("f8")},
    "tiny scores": lambda a: {**a, "keys": 5e-324 * np.sign(a["keys"].astype("f8"))},
    "tiny values": lambda a: {**a, "values": 1e-300 * a["values"].astype("f8")},
    "equal values": lambda a: {**a, "values": np.ones_like(a["values"])},
    "a token twice": lambda a: {**a, "keys": a["keys"][[0, 0, 1, 2, 3, 4]], "values": a["values"][[0, 0, 1, 2, 3, 4]]},
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_prompts(tmp_path: Path, prompt: Prompt, name: str) -> None:
    generate(tmp_path / "a.yaml", **EXTREMES[name](prompt()))
    verify(tmp_path / "a.yaml")


def test_queries_are_a_range_of_rows(tmp_path: Path, head: Path) -> None:
    generate(tmp_path / "a.yaml", source=head, query_rows="1:3")
    assert verify(tmp_path / "a.yaml").counts["proved"] == 2


def test_the_bound_is_tight_and_safe(tmp_path: Path, head: Path) -> None:
    generate(tmp_path / "a.yaml", source=head, scale="1/7")
    bound = re.search(r"at_most: (\S+)", (tmp_path / "a.yaml").read_text())
    assert bound is not None
    assert len(bound[1].replace(".", "").strip("0")) <= 6
    generate(tmp_path / "b.yaml", source=head, scale="1/7", at_most=bound[1])
    last = int(bound[1][-1])
    with pytest.raises(NotProvedError, match="too small: query"):
        generate(tmp_path / "c.yaml", source=head, scale="1/7", at_most=bound[1][:-1] + str(last - 1))
    assert files(tmp_path) == ["a.yaml", "b.yaml", "head.npz"]


def test_a_note_for_readers(tmp_path: Path, head: Path) -> None:
    generate(tmp_path / "a.yaml", source=head, note="layer 0: head 6 # really")
    assert certattn.load(tmp_path / "a.yaml").provenance["note"] == "layer 0: head 6 # really"
    verify(tmp_path / "a.yaml")


def test_the_same_input_gives_the_same_bytes(tmp_path: Path, prompt: Prompt) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    for folder in (first, second):
        folder.mkdir()
        generate(folder / "a.yaml", **prompt())
    for name in ("a.yaml", "a.npz"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


# -- where the arrays go


def test_arrays_in_the_certificates_folder_are_referred_to(tmp_path: Path, head: Path) -> None:
    (tmp_path / "below").mkdir()
    head.rename(tmp_path / "below" / "head.npz")
    generate(tmp_path / "a.yaml", source=tmp_path / "below/head.npz")
    assert files(tmp_path) == ["a.yaml", "below"]
    assert "file: below/head.npz" in (tmp_path / "a.yaml").read_text()
    verify(tmp_path / "a.yaml")


def test_arrays_elsewhere_are_copied(tmp_path: Path, head: Path) -> None:
    (tmp_path / "out").mkdir()
    generate(tmp_path / "out" / "a.yaml", source=head)
    assert files(tmp_path / "out") == ["a.npz", "a.yaml"]
    head.unlink()
    verify(tmp_path / "out" / "a.yaml")


def test_arrays_elsewhere_cannot_be_referred_to(tmp_path: Path, head: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(UsageError, match="--data copy"):
        generate(tmp_path / "out" / "a.yaml", source=head, data="reference")
    assert files(tmp_path / "out") == []


def test_a_link_counts_as_where_it_leads(tmp_path: Path, head: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "link.npz").symlink_to(head)
    generate(tmp_path / "out" / "a.yaml", source=tmp_path / "out" / "link.npz")
    assert files(tmp_path / "out") == ["a.npz", "a.yaml", "link.npz"]
    verify(tmp_path / "out" / "a.yaml")


def test_a_link_inside_the_folder_keeps_its_name(tmp_path: Path, head: Path) -> None:
    head.rename(tmp_path / "blob")
    (tmp_path / "link.npz").symlink_to("blob")
    generate(tmp_path / "a.yaml", source=tmp_path / "link.npz")
    assert files(tmp_path) == ["a.yaml", "blob", "link.npz"]
    assert "file: link.npz" in (tmp_path / "a.yaml").read_text()
    verify(tmp_path / "a.yaml")


def test_arrays_that_no_certificate_reads_are_copied_plainly(tmp_path: Path, prompt: Prompt) -> None:
    arrays = {name: np.asfortranarray(array.astype(">f8")) for name, array in prompt().items()}
    save(tmp_path / "in.npz", arrays)
    with pytest.raises(UsageError, match="Fortran order"):
        generate(tmp_path / "a.yaml", source=tmp_path / "in.npz", data="reference")
    generate(tmp_path / "a.yaml", source=tmp_path / "in.npz")
    assert files(tmp_path) == ["a.npz", "a.yaml", "in.npz"]
    verify(tmp_path / "a.yaml")


def test_some_arrays_in_a_file_and_some_by_keyword(tmp_path: Path, head: Path, prompt: Prompt) -> None:
    generate(tmp_path / "a.yaml", source=head, queries=prompt()["queries"][:1])
    text = (tmp_path / "a.yaml").read_text()
    assert text.count("file: head.npz") == 2
    assert text.count("file: a.npz") == 1
    assert text.index("keys:") < text.index("values:") < text.index("queries:")
    verify(tmp_path / "a.yaml")


def test_names_in_the_file(tmp_path: Path, prompt: Prompt) -> None:
    save(tmp_path / "in.npz", {f"attn.{name[0]}": array for name, array in prompt().items()})
    names = {"keys": "attn.k", "values": "attn.v", "queries": "attn.q"}
    generate(tmp_path / "a.yaml", source=tmp_path / "in.npz", names=names)
    verify(tmp_path / "a.yaml")


@pytest.mark.parametrize("name", ["with space.npz", "ünïcode→.npz", "a'b\"c.npz", "#hash.npz", "- dash.npz"])
def test_odd_file_names(tmp_path: Path, head: Path, name: str) -> None:
    head.rename(tmp_path / name)
    out = (tmp_path / name).with_suffix(".yaml")
    generate(out, source=tmp_path / name)
    verify(out)


@pytest.mark.parametrize("name", [b"new\nline.npz", b"\xff.npz", b"back\\slash.npz", b"bell\x07.npz"])
def test_file_names_that_no_certificate_can_hold_are_refused(tmp_path: Path, head: Path, name: bytes) -> None:
    odd = tmp_path / os.fsdecode(name)
    head.rename(odd)
    with pytest.raises(UsageError, match="plain names"):
        generate(tmp_path / "a.yaml", source=odd)
    generate(tmp_path / "a.yaml", source=odd, data="copy")
    verify(tmp_path / "a.yaml")


# -- what cannot be written down


def bad_shape(name: str, shape: tuple[int, ...]) -> Callable[[Arrays], Arrays]:
    return lambda arrays: {**arrays, name: np.zeros(shape, "f4")}


def filled(name: str, value: float) -> Callable[[Arrays], Arrays]:
    return lambda arrays: {**arrays, name: np.full_like(arrays[name], value)}


def cast(dtype: Any) -> Callable[[Arrays], Arrays]:
    return lambda arrays: {**arrays, "keys": arrays["keys"].astype(dtype)}


BAD: dict[str, tuple[Callable[[Arrays], Arrays], str]] = {
    "no tokens": (bad_shape("keys", (0, 2)), "at least one row"),
    "no queries": (bad_shape("queries", (0, 2)), "at least one row"),
    "no dimensions": (bad_shape("queries", (3, 0)), "at least one row and one column"),
    "one dimension": (bad_shape("keys", (6,)), "two dimensions"),
    "three dimensions": (bad_shape("values", (2, 6, 3)), "2 heads; expected one head, such as --head 0"),
    "a number": (bad_shape("values", ()), "two dimensions"),
    "queries of another dimension": (bad_shape("queries", (3, 5)), "queries of the keys' dimension"),
    "another number of values": (bad_shape("values", (7, 3)), "one value per key"),
    "NaN in keys": (filled("keys", np.nan), "a NaN at row 0, column 0"),
    "infinity in values": (filled("values", -np.inf), "an infinity at row 0, column 0"),
    "NaN in queries": (filled("queries", np.nan), "a NaN"),
    "objects": (cast(object), "number type object"),
    "booleans": (cast(bool), "number type bool"),
    "complex numbers": (cast("c8"), "number type complex64"),
    "texts": (cast("U3"), "number type str96"),
    "long doubles": (cast(np.longdouble), "number type (float128|longdouble|float96)"),
}


@pytest.mark.parametrize("form", ["keyword", "file", "copied"])
@pytest.mark.parametrize("name", BAD)
def test_bad_arrays_are_refused_and_nothing_is_left(tmp_path: Path, prompt: Prompt, name: str, form: str) -> None:
    spoil, words = BAD[name]
    arrays = spoil(prompt())
    if arrays["keys"].dtype == np.float64:
        pytest.skip("long doubles are doubles here")
    out = tmp_path / "out"
    out.mkdir()
    inputs: dict[str, Any] = arrays
    if form != "keyword":
        source = (out if form == "file" else tmp_path) / "in.npz"
        save(source, arrays)
        inputs = {"source": source}
    with pytest.raises((UsageError, MalformedError), match=words):
        generate(out / "a.yaml", **inputs)
    assert files(out) == (["in.npz"] if form == "file" else [])


def test_an_error_in_a_draft_names_no_line_of_a_file(tmp_path: Path, prompt: Prompt) -> None:
    (tmp_path / "a.yaml").write_text("something else\n")
    with pytest.raises(MalformedError) as caught:
        generate(tmp_path / "a.yaml", **prompt(), scale="pi")
    assert caught.value.place.line == 0
    assert str(caught.value).startswith(f"{tmp_path / 'a.yaml'} (not written): given.scale\n")
    assert (tmp_path / "a.yaml").read_text() == "something else\n"


def test_numbers_of_python_are_exact(tmp_path: Path, prompt: Prompt) -> None:
    limit = {
        "kind": "affine",
        "matrix": [[0, 0], [0, Fraction(1, 3)], (1, 1)],
        "offset": [0, Decimal("0.1"), fmpq(1, 7)],
    }
    certificate = generate(
        tmp_path / "a.yaml", **prompt(), limit=limit, scale=Fraction(1, 3), at_most=10**6, query_rows="0:2", note=3
    )
    plain: Any = certificate.plain
    assert (plain["given"]["scale"], plain["asserts"]["deviation"]["at_most"]) == ("1/3", "1000000")
    assert plain["given"]["limit"]["matrix"] == [["0", "0"], ["0", "1/3"], ["1", "1"]]
    assert plain["given"]["limit"]["offset"] == ["0", "0.1", "1/7"]
    assert plain["provenance"]["note"] == "3"
    verify(tmp_path / "a.yaml")


@pytest.mark.parametrize("also", ["tokens", "V", "U"])
def test_no_array_that_was_passed_is_left_out(tmp_path: Path, prompt: Prompt, also: str) -> None:
    with pytest.raises(
        UsageError, match=r"the arrays .* do not go together; expected arrays keys, values, queries, or"
    ):
        generate(tmp_path / "a.yaml", **prompt(), **{also: np.eye(2)})
    assert files(tmp_path) == []


def test_k_beside_u_is_refused(tmp_path: Path, tokens: Arrays) -> None:
    with pytest.raises(UsageError, match="the arrays K, Q, U, V, queries, tokens do not go together"):
        generate(tmp_path / "a.yaml", **tokens, U=np.ones((4, 5)))


def test_a_huge_array_is_refused_before_it_is_read(tmp_path: Path) -> None:
    zeros = np.lib.stride_tricks.as_strided(np.zeros(1, "f8"), shape=(2**20, 2**20), strides=(0, 0))
    with pytest.raises(UsageError, match="8796093022208 bytes"):
        generate(tmp_path / "a.yaml", keys=zeros, values=zeros, queries=zeros)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"norm": "l1"}, "l2 or linf"),
    ({"norm": ["l2"]}, "l2 or linf"),
    ({"data": "move"}, "auto, copy, reference"),
    ({"names": {"keys": "nothing"}}, "it holds keys, values, queries"),
    ({"names": {"kees": "keys"}}, "unknown arrays kees"),
    ({"scale": "0"}, "given.scale"),
    ({"scale": "1e99999"}, "--max-exponent"),
    ({"query_rows": "2:1"}, "first < stop"),
    ({"query_rows": "0:4"}, "rows among the 3"),
    ({"query_rows": ""}, "rows as first:stop"),
    ({"at_most": ""}, "at_most"),
    ({"at_most": "-1"}, ">= 0"),
    ({"at_most": "inf"}, "an exact number"),
    ({"limit": {"kind": "nothing"}}, "'empirical' or 'affine' or 'law'"),
    ({"limit": {**AFFINE, "offset": ["0"]}}, r"given\.limit\.offset"),
    ({"limit": {**LAW_OF_PAIRS, "law": {"kind": "box", "sizes": ["1"]}}}, "dimension 5"),
    ({"note": "x" * 1001}, "1000 characters"),
    ({"scale": 0.1}, "scale is the float 0.1"),
    ({"scale": None}, "scale is None, expected an exact number"),
    ({"scale": ["1"]}, "scale is a list"),
    ({"at_most": 0.6}, "at_most is the float 0.6"),
    ({"query_rows": 3}, "rows as first:stop"),
    ({"query_rows": slice(0, 2)}, r"query_rows is slice\(0, 2, None\)"),
    ({"note": ["a"]}, "note is a list"),
    ({"limit": {**AFFINE, "offset": [0, 0.6, 0]}}, r"limit\.offset\[1\] is the float 0.6"),
    ({"limit": {**AFFINE, "matrix": np.eye(3, dtype=complex)}}, r"limit\.matrix is an array of the type complex128"),
    ({"limit": None}, "limit is None"),
    ({"keys": np.ma.masked_array(np.eye(2), mask=np.eye(2))}, "keys is a masked array"),
    ({"queries": np.ma.masked_array(np.eye(2))}, "queries is a masked array"),
    ({"keys": [[1, 2], [3]]}, "keys is no array"),
    ({"keys": "head.npz"}, r"keys has the shape \(\)"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_bad_options_are_refused_and_nothing_is_left(
    tmp_path: Path, head: Path, options: dict[str, Any], words: str
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises((UsageError, MalformedError), match=words):
        generate(out / "a.yaml", **{"source": head, **options})
    assert files(out) == []


def test_missing_arrays_are_named(tmp_path: Path, prompt: Prompt) -> None:
    arrays = prompt()
    del arrays["values"]
    save(tmp_path / "in.npz", arrays)
    with pytest.raises(UsageError, match=r"in\.npz holds keys, queries\..*--array"):
        generate(tmp_path / "a.yaml", source=tmp_path / "in.npz")
    with pytest.raises(UsageError, match="no file was given"):
        generate(tmp_path / "a.yaml")


# -- places where nothing can be written


def test_bad_places_are_refused_before_any_work(tmp_path: Path, head: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> NoReturn:
        raise AssertionError("work was done")

    monkeypatch.setattr("certattn.provers.attention.output_deviation.prompt_sources", never)
    (tmp_path / "folder.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "link.yaml").symlink_to(head)
    before = files(tmp_path)
    for name in (
        "nothing/a.yaml", "head.npz", "head.npz/a.yaml", "folder.yaml", "pipe.yaml", "link.yaml",
        "a.npz", "a.safetensors",
    ):  # fmt: skip
        with pytest.raises(UsageError):
            generate(tmp_path / name, source=head)
    with pytest.raises(UsageError):
        generate(Path("/dev/null"), source=head)
    assert files(tmp_path) == before
    assert Path("/dev/null").is_char_device()


def test_an_existing_certificate_is_replaced_whole(tmp_path: Path, head: Path) -> None:
    generate(tmp_path / "a.yaml", source=head)
    first = (tmp_path / "a.yaml").read_text()
    generate(tmp_path / "a.yaml", source=head, norm="linf")
    assert (tmp_path / "a.yaml").read_text() != first
    assert files(tmp_path) == ["a.yaml", "head.npz"]
    verify(tmp_path / "a.yaml")


def test_a_data_file_with_the_same_content_is_used(tmp_path: Path, prompt: Prompt) -> None:
    generate(tmp_path / "a.yaml", **prompt())
    with pytest.raises(NotProvedError):
        generate(tmp_path / "a.yaml", **prompt(), at_most="0")
    verify(tmp_path / "a.yaml")
    generate(tmp_path / "a.yaml", **prompt(), norm="linf")
    verify(tmp_path / "a.yaml")


def test_a_data_file_with_other_content_is_left_alone(tmp_path: Path, prompt: Prompt) -> None:
    (tmp_path / "a.npz").write_bytes(b"mine")
    with pytest.raises(UsageError, match="exists with other content"):
        generate(tmp_path / "a.yaml", **prompt())
    assert files(tmp_path) == ["a.npz"]
    assert (tmp_path / "a.npz").read_bytes() == b"mine"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("file", ["a.npz", "a.yaml"])
def test_a_failing_disk_leaves_nothing_behind(
    tmp_path: Path, prompt: Prompt, monkeypatch: pytest.MonkeyPatch, number: int, file: str
) -> None:

    def fail(path: Path, content: bytes) -> None:
        if path.name == file:
            raise OSError(number, os.strerror(number), "temporary")
        write_atomically(path, content)

    monkeypatch.setattr("certattn.provers.output.write_atomically", fail)
    full = number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    with pytest.raises(LimitExceededError if full else UsageError, match=f"{file}: cannot be written"):
        generate(tmp_path / "a.yaml", **prompt())
    assert files(tmp_path) == []


@pytest.mark.parametrize("moment", ["attention.output_deviation.upper_bounds", "output.write_file"])
def test_an_interruption_leaves_nothing_behind(
    tmp_path: Path, prompt: Prompt, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def interrupted(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"certattn.provers.{moment}", interrupted)
    with pytest.raises(KeyboardInterrupt):
        generate(tmp_path / "a.yaml", **prompt())
    assert files(tmp_path) == []


# -- how far the output moves


@pytest.mark.parametrize("form", ["keys", "tokens"])
@pytest.mark.parametrize("causal", [None, 4])
def test_the_constant_limit_is_the_output_at_the_middle(tmp_path: Path, form: str, causal: int | None) -> None:
    rng = np.random.default_rng(3)
    tokens, query, (Q, K, V) = rng.normal(size=(6, 3)), rng.normal(size=(1, 2)), rng.normal(size=(3, 3, 3))
    keys, values, asked = (tokens @ K.T, tokens @ V.T, query @ Q[:, :2].T)
    arrays = {"keys": keys, "values": values, "queries": asked}
    if form == "tokens":
        arrays = {"tokens": tokens, "K": K, "Q": Q[:, :2], "V": V, "queries": query}
    made = generate(
        tmp_path / "a.yaml", **arrays, scale="1/2", region={"kind": "ball", "radius": "1/10"}, limit="constant",
        lower_bound=True, causal=causal,
    )  # fmt: skip
    limit: Any = made.plain["given"]["limit"]

    def output(at: Any, keys: Any = keys[:causal], values: Any = values[:causal]) -> Any:
        weights = np.exp(keys @ at / 2)
        return weights @ values / weights.sum()

    assert np.allclose([float(Fraction(entry)) for entry in limit["offset"]], output(asked[0]), rtol=0, atol=1e-11)
    assert {entry for row in limit["matrix"] for entry in row} == {"0"}
    # No query of the ball moves the output by more; one that was found, by the lower bound.
    size = arrays["queries"].shape[1]
    steps = rng.normal(size=(2000, size))
    steps /= 10 * np.linalg.norm(steps, axis=1, keepdims=True)
    moved = [query[0] + step for step in steps] if form == "tokens" else [asked[0] + step for step in steps]
    there = [output(Q[:, :2] @ q if form == "tokens" else q) for q in moved]
    most = max(float(np.linalg.norm(each - output(asked[0]))) for each in there)
    low, high = (float(made.numbers[f"deviation.{name}"]) for name in ("at_least", "at_most"))
    assert 0 < low <= high
    assert most <= high
    assert low <= most * 1.02
    assert "the constant vector T_inf(q) = (" in made.statement
    assert certattn.check(made).verdict is Verdict.VERIFIED


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"limit": "constant"}, "expected a region beside --limit constant"),
        ({"limit": "constant", "region": {"kind": "ball", "radius": 1}}, "queries have outputs of their own"),
    ],
)
def test_a_constant_limit_is_that_of_one_query(tmp_path: Path, inputs: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        generate(tmp_path / "a.yaml", keys=np.eye(2), values=np.eye(2), queries=np.eye(2), **inputs)
    assert list(tmp_path.iterdir()) == []
