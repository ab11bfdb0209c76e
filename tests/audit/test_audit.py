"""`certattn audit`: what it writes, keeps and says, on tiny models and recorded heads."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
import yaml
from jsonschema import Draft202012Validator
from tiny_models import write_model

import certattn
from certattn.audit import deviation, measures, prompt_length, selection, statements
from certattn.audit.head import Head
from certattn.audit.notes import sha256
from certattn.audit.run import about, chosen
from certattn.audit.summary import SCHEMA
from certattn.audit.table import COLUMNS, advice, legend, rows, table
from certattn.cli.main import run
from certattn.kernel.errors import UsageError
from certattn.statements.reports import Report

IDS = "3 1 4 1 5 9 2"


def model(folder: Path, made: Any = tiny_models.bert, **changes: Any) -> Path:
    (folder / "ids.txt").write_text(IDS)
    return write_model(folder / "model", *made(**changes))


def audit(*arguments: Any) -> int:
    return run(["audit", *map(str, arguments)])


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "audit.json").read_text())
    assert [error.message for error in Draft202012Validator(SCHEMA).iter_errors(found)] == []
    return found


def recorded(path: Path, tokens: int = 9, seed: int = 0, **changes: np.ndarray[Any, Any]) -> Path:
    rng = np.random.default_rng(seed)
    arrays = {
        f"layer0.{name}": rng.normal(size=(2, tokens, 3)).astype("float32") for name in ("queries", "keys", "values")
    }
    np.savez(path, **{**arrays, **changes})
    return path


# -- what is written


FEW_HEADS = partial(tiny_models.llama, num_attention_heads=2, num_key_value_heads=1)
MADE = [tiny_models.bert, partial(tiny_models.bert, is_decoder=True), tiny_models.gpt2, FEW_HEADS]


@pytest.mark.heavy
@pytest.mark.parametrize("made", MADE, ids=["BERT", "BERT as a decoder", "GPT-2", "Llama"])
def test_every_head_of_a_model_has_certificates_that_verify(made: Any, tmp_path: Path) -> None:
    path = model(tmp_path, made)
    assert audit(path, "--ids", tmp_path / "ids.txt", "-o", tmp_path / "out", "-j", 1, "--layers", "0,2") == 0
    found = summary(tmp_path / "out")
    causal = made is not tiny_models.bert
    heads = found["model"]["heads"]
    assert [(head["layer"], head["head"]) for head in found["heads"]] == [(i, j) for i in (0, 2) for j in range(heads)]
    for head in found["heads"]:
        assert [statement["name"] for statement in head["statements"]] == list(statements.STATES)
        for statement in head["statements"]:
            assert statement.get("verdicts", []) == ["verified"] * len(statement["certificates"])
            assert statement["certificates"] or statement["missing"]
            for name in statement["certificates"]:
                path = tmp_path / "out" / head["folder"] / name
                plain = certattn.load(path).plain
                masked = name.startswith(("deviation", "selection", "singular-values"))
                assert ("causal" in plain["given"]) is (causal and masked)
        by_name = {statement["name"]: statement for statement in head["statements"]}
        assert by_name["singular-values"]["certificates"] == ["singular-values.yaml"]
        # No law is known under a mask, and a reader is told so.
        assert (by_name["spectral-distance"]["certificates"] == []) is causal
        assert ("under a causal mask" in by_name["spectral-distance"]["missing"]) is causal


def test_arrays_are_those_of_the_forward_pass_in_single_precision(tmp_path: Path) -> None:
    from certattn.models.layouts import model_of
    from certattn.models.weights import open_weights

    path = model(tmp_path, tiny_models.llama)
    options = ["--ids", tmp_path / "ids.txt", "--heads", "3", "--layers", "1", "--state", "deviation"]
    assert audit(path, *options, "-o", tmp_path / "out", "-j", 1, "--no-check") == 0
    (_, layer) = model_of(open_weights(path)).heads(np.array([int(i) for i in IDS.split()]), 2)
    stored = np.load(tmp_path / "out" / "layer01-head03" / "arrays.npz")
    for name in ("queries", "keys", "values"):
        assert np.array_equal(stored[name], getattr(layer, name)[3].astype("float32"))
    assert summary(tmp_path / "out")["checked"] is False


def test_figures_are_what_the_certificates_state(tmp_path: Path) -> None:
    recorded(tmp_path / "heads.npz")
    assert audit(tmp_path / "heads.npz", "-o", tmp_path / "out", "-j", 1, "--heads", 1) == 0
    (head,) = summary(tmp_path / "out")["heads"]
    figures = {statement["name"]: statement["figures"] for statement in head["statements"]}

    def stated(name: str) -> Any:
        return yaml.load((tmp_path / "out" / head["folder"] / name).read_text(), yaml.BaseLoader)["asserts"]

    bounds = stated("deviation.yaml")["deviation"]
    assert figures["deviation"]["at_most"] == bounds["at_most"]
    assert figures["deviation"]["relative_at_most"] == bounds["relative_at_most"]
    each = sorted(map(Fraction, bounds["per_query"]["relative_at_most"]))
    assert Fraction(figures["deviation"]["relative_median"]) == each[4]
    assert Fraction(figures["deviation"]["relative_quantile_90"]) == each[8]
    assert figures["singular-values"]["effective_rank"] == stated("singular-values.yaml")["effective_rank"]["values"]
    tail = stated("prompt-length.yaml")["norm"]
    assert tail == {"norm": "l2", "exceeds": bounds["at_most"], "probability": "0.01"}
    picked = stated("selection.yaml")
    scores = np.load(tmp_path / "heads.npz")
    exact = scores["layer0.queries"][1].astype(float) @ scores["layer0.keys"][1].T.astype(float)
    assert list(map(int, picked["selected"])) == exact.argmax(axis=1).tolist()
    assert figures["selection"]["queries"] == 9


@pytest.mark.heavy
def test_deviations_of_masked_heads_are_those_of_prefixes(tmp_path: Path) -> None:
    recorded(tmp_path / "heads.npz")
    assert audit(tmp_path / "heads.npz", "--causal", "--scale", "1/2", "-o", tmp_path / "out", "-j", 1) == 0
    arrays = np.load(tmp_path / "heads.npz")
    for head in summary(tmp_path / "out")["heads"]:
        q, k, v = (arrays[f"layer0.{name}"][head["head"]].astype(float) for name in ("queries", "keys", "values"))
        path = tmp_path / "out" / head["folder"] / "deviation.yaml"
        bounds = yaml.load(path.read_text(), yaml.BaseLoader)["asserts"]["deviation"]["per_query"]["at_most"]
        for i, bound in enumerate(bounds):
            s, seen = q[i] @ k[: i + 1].T / 2, v[: i + 1]
            p = np.exp(s - s.max()) / np.exp(s - s.max()).sum()
            off = np.linalg.norm(p @ seen - (1 + s - s.mean()) @ seen / (i + 1))
            assert off - 1e-12 <= float(bound) <= off * (1 + 2e-5) + 1e-12


def test_spectra_of_masked_heads_are_those_of_triangles(tmp_path: Path) -> None:
    recorded(tmp_path / "heads.npz")
    options = ["--causal", "--scale", "1/2", "--state", "singular-values"]
    assert audit(tmp_path / "heads.npz", *options, "-o", tmp_path / "out", "-j", 1) == 0
    arrays = np.load(tmp_path / "heads.npz")
    for head in summary(tmp_path / "out")["heads"]:
        q, k = (arrays[f"layer0.{name}"][head["head"]].astype(float) for name in ("queries", "keys"))
        size = len(k)
        weights = np.tril(np.exp(q @ k.T / 2))
        below = np.tril(np.ones((size, size)))
        off = weights / weights.sum(axis=1, keepdims=True) - below / below.sum(axis=1, keepdims=True)
        s = np.linalg.svd(np.sqrt(size) * off, compute_uv=False)
        (found,) = head["statements"]
        assert np.allclose([float(value) for value in found["figures"]["largest"]], s[:4], rtol=0, atol=1e-9)
        shares = s[s > 1e-12] / s.sum()
        rank = np.exp(-(shares * np.log(shares)).sum())
        bounds = found["figures"]["effective_rank"]
        assert float(bounds["at_least"]) - 1e-6 <= rank <= float(bounds["at_most"]) + 1e-6


def test_several_prompts_have_a_folder_each(tmp_path: Path) -> None:
    path = model(tmp_path)
    (tmp_path / "more.txt").write_text("7, 7, 8")
    np.save(tmp_path / "third.npy", np.array([2, 3]))
    prompts = [option for name in ("ids.txt", "more.txt", "third.npy") for option in ("--ids", tmp_path / name)]
    assert audit(path, *prompts, "-o", tmp_path / "out", "-j", 1, "--heads", "0", "--state", "deviation") == 0
    found = summary(tmp_path / "out")
    assert [prompt["tokens"] for prompt in found["prompts"]] == [7, 3, 2]
    assert [head["folder"] for head in found["heads"]] == [
        f"prompt{p}/layer{i:02}-head00" for p in range(3) for i in range(3)
    ]


@pytest.mark.heavy
def test_two_processes_find_what_one_does(tmp_path: Path) -> None:
    path = model(tmp_path)
    for jobs in (1, 2):
        assert audit(path, "--ids", tmp_path / "ids.txt", "-o", tmp_path / f"out{jobs}", "-j", jobs, "--no-check") == 0
    one, two = (summary(tmp_path / f"out{jobs}")["heads"] for jobs in (1, 2))
    assert [head["files"] for head in one] == [head["files"] for head in two]


@pytest.mark.heavy
def test_json_on_standard_output_is_the_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded(tmp_path / "heads.npz")
    assert audit(tmp_path / "heads.npz", "-o", tmp_path / "out", "-j", 1, "--heads", 0, "--format", "json") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == summary(tmp_path / "out")
    assert printed.err == ""


def test_a_text_is_cut_by_its_tokenizer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import tokenizers

    path = model(tmp_path)
    words = {word: i for i, word in enumerate(["[UNK]", "begin", "end", "a", "b", "c", "d"])}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, "[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        "begin $A end", special_tokens=[("begin", 1), ("end", 2)]
    )
    made.enable_padding(length=50)
    made.save(str(path / "tokenizer.json"))
    (tmp_path / "page.txt").write_text("a b c d " * 9)
    options = ["--text", tmp_path / "page.txt", "-o", tmp_path / "out", "-j", 1, "--heads", 0, "--state", "deviation"]
    assert audit(path, *options, "--tokens", 5) == 0
    (prompt,) = summary(tmp_path / "out")["prompts"]
    assert (prompt["tokens"], prompt["whole"]) == (5, 38)
    assert audit(path, *options) == 0
    assert summary(tmp_path / "out")["prompts"][0]["tokens"] == 10
    (path / "tokenizer.json").unlink()
    capsys.readouterr()
    assert audit(path, *options) == 2
    assert "no such file, expected the tokenizer of the model" in capsys.readouterr().err


def test_the_table_rounds_to_what_is_certified() -> None:
    """Upper bounds up, lower bounds down, lengths up, ranges outwards: as tight as three digits allow."""
    bounds = dict.fromkeys(("at_most", "relative_median", "relative_quantile_90", "relative_at_most"), "1.77179")
    chosen = {"queries": 9, "most_selected": {"token": 3, "queries": 5}, "median_weight": "0.46459"}
    rank, law = {"at_least": "129.91", "at_most": "129.92"}, {"at_least": "0.9991"}
    named = {
        "deviation": bounds,
        "prompt-length": {"length": 12_740_001},
        "selection": chosen,
        "singular-values": {"effective_rank": rank},
        "spectral-distance": {"law": law},
    }
    head: dict[str, Any] = {
        "prompt": 0,
        "layer": 1,
        "head": 2,
        "cut": "",
        "measures": {"share": 0.04999, "sink": {"token": 7, "weight": 0.61249}, "evicted": None},
        "statements": [{"name": name, "figures": figures, "verdicts": ["verified"]} for name, figures in named.items()],
    }
    measured = ("5%", "61.2% at 7", "-")
    (row,) = rows({"prompts": [0], "heads": [head]})
    assert row == (
        *("1.2", "8.9%", "178%", "178%", *measured, "46.4%", "3 (5/9)", "129..130", ">=0.999", "1.78", "1.28e+7"),
        "verified",
    )
    for statement in head["statements"]:
        statement["verdicts"] = ["refuted"]
    (row,) = rows({"prompts": [0], "heads": [head]})
    assert row == ("1.2", *["-"] * 3, *measured, *["-"] * 6, "refuted")


def drawn_head(causal: bool = True, cap: float | None = None, tokens: int = 30) -> Head:
    q, k, v = (np.random.default_rng(i).normal(size=(tokens, 3)).astype("float32") for i in range(3))
    return Head(Path(), "1/2", 0.5, causal, q, k, v, cap)


@pytest.mark.parametrize(("causal", "cap"), [(False, None), (True, None), (True, 0.7)])
@pytest.mark.parametrize("block", [1, 100, 10**6])
def test_what_is_measured_is_the_attention_matrix(
    causal: bool, cap: float | None, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measures, "_BLOCK", block)
    head = drawn_head(causal, cap)
    rows_of_weights = []
    for i, query in enumerate(head.queries.astype(float)):
        s = head.keys[: i + 1 if causal else 30].astype(float) @ query / 2
        e = np.exp(s if cap is None else cap * np.tanh(s / cap))
        rows_of_weights.append(np.pad(e / e.sum(), (0, 30 - len(e))))
    weights = np.array(rows_of_weights)
    found = measures.measures(head, np.arange(31.0))
    assert found["share"] == 15
    assert found["sink"]["token"] == weights.mean(axis=0).argmax()
    assert found["sink"]["weight"] == pytest.approx(weights.mean(axis=0).max(), rel=1e-12)
    # The first four are kept, and of 30 the last eight that are seen.
    lost = [sum(weights[i, j] for j in range(4, i + 1 - 8)) for i in range(30)]
    assert found["evicted"] == (pytest.approx(np.mean(lost), rel=1e-12) if causal else None)


def test_what_cannot_be_measured_is_no_number() -> None:
    head = drawn_head(tokens=6)
    assert measures.measures(head, np.array([1.0, np.inf, np.inf]))["share"] is None
    assert measures.measures(head, None)["share"] is None
    # A cache that keeps four tokens and two more has room for all.
    assert measures.measures(head, None)["evicted"] is None


def test_the_legend_explains_the_columns_that_are_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded(tmp_path / "heads.npz")
    options = [tmp_path / "heads.npz", "-o", tmp_path / "out", "-j", 1, "--state", "singular-values"]
    assert audit(*options) == 0
    found, said = summary(tmp_path / "out"), capsys.readouterr().out
    assert table(found)[0].split() == ["head", "sink", "rank", "verdict"]
    assert [line.split(", ")[0] for line in legend(found)] == ["sink", "rank"]
    assert "Columns:\n  sink, measured: " in said
    assert "rank, proved: " in said
    assert audit(*options, "--no-check") == 0
    assert "rank, stated, not checked: " in capsys.readouterr().out


def advised(*, causal: bool = True, **heads: Any) -> list[str]:
    """The advice of heads 0.0, 0.1 and so on with these values."""
    made = []
    for i in range(max(map(len, heads.values()))):
        values = {name: column[i] for name, column in heads.items() if column[i] is not None}
        statements = [
            {"name": "deviation", "figures": {"relative_median": values["off"]} if "off" in values else {}},
            {"name": "selection", "figures": {"median_weight": values["weight"]} if "weight" in values else {}},
        ]
        sink = {"token": 0, "weight": values["sink"]} if "sink" in values else None
        measured = {"share": values.get("share"), "sink": sink, "evicted": values.get("evicted")}
        made.append({"prompt": 0, "layer": 0, "head": i, "cut": "", "measures": measured, "statements": statements})
    return advice({"prompts": [0], "heads": made, "model": {"causal": causal}})


def test_advice_names_the_heads_that_it_is_about_best_first() -> None:
    assert advised(off=["0.5", "0.6"], share=[0.5, 0.4], sink=[0.1, 0.2], weight=["0.3", "0.899"]) == [
        "no head stands out by the measures that docs/audit.md lists"
    ]
    (line, _) = advised(off=["0.09", "0.101", "0.01"], share=[None, 0.1, 0.1])
    assert line.startswith(
        "matter little beside a linear map: 0.2 (0.1%), 0.1 (1.01%); by the column change, which is a guess: "
    )
    (_, line) = advised(off=["0.09", "0.101", "0.01"], share=[None, 0.1, 0.1])
    assert line.startswith("nearly linear: 0.2 (1%), 0.0 (9%); ")
    (line,) = advised(weight=["0.91", "0.999", None])
    assert line.startswith("pick one token: 0.1 (99.9%), 0.0 (91%); ")
    (line,) = advised(evicted=[0.001, 0.02])
    assert line.startswith("fit a small cache: 0.0 (0.1%); that is weight and not output: ")
    # Without a mask nothing is cached.
    assert "no head stands out" in advised(causal=False, evicted=[0.001, 0.02])[0]
    (line,) = advised(share=[0.001, 0.02])
    assert line.startswith("add little: 0.0 (0.1%); ")
    (line,) = advised(sink=[0.5 + i / 100 for i in range(8)])
    assert line.startswith("have a sink: 0.7 (57%), 0.6 (56%), 0.5 (55%), 0.4 (54%), 0.3 (53%) and 3 more; ")


def test_heads_with_a_window_are_stated_of_the_queries_that_see_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = model(tmp_path, tiny_models.llama, model_type="mistral", sliding_window=5)
    options = ["--layers", "1", "--state", "deviation"]
    assert audit(path, "--ids", tmp_path / "ids.txt", "-o", tmp_path / "out", "-j", 1, *options) == 0
    found = summary(tmp_path / "out")
    assert {head["tokens"] for head in found["heads"]} == {5}
    assert found["prompts"][0]["tokens"] == 7
    said = " ".join(capsys.readouterr().out.split())
    assert "fewer queries for 4 heads, such as 1.0: a query sees the last 5 tokens: of 7 queries the first 5" in said
    # A window that all fit in is none.
    (tmp_path / "ids.txt").write_text("3 1 4 1 5")
    assert audit(path, "--ids", tmp_path / "ids.txt", "-o", tmp_path / "out", "-j", 1, *options) == 0
    assert {head["cut"] for head in summary(tmp_path / "out")["heads"]} == {""}
    assert "fewer queries" not in capsys.readouterr().out


def test_heads_with_a_soft_cap_have_no_certificates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).parents[1] / "models" / "data" / "gemma2"
    (tmp_path / "ids.txt").write_text(IDS)
    options = ["--ids", tmp_path / "ids.txt", "-o", tmp_path / "out", "-j", 1]
    assert audit(path, *options) == 2
    found = summary(tmp_path / "out")
    assert found["model"]["cap"] == 2
    assert {len(statement["certificates"]) for head in found["heads"] for statement in head["statements"]} == {0}
    said = " ".join(capsys.readouterr().out.split())
    assert "no deviation for 12 heads, such as 0.0: scores go through a soft cap before the softmax" in said
    assert audit(path.parent / "gemma2-uncapped", *options, "--layers", 0, "--state", "deviation") == 0
    found = summary(tmp_path / "out")
    assert found["model"]["cap"] is None
    assert {len(statement["certificates"]) for head in found["heads"] for statement in head["statements"]} == {1}


# -- what cannot be stated


@pytest.mark.heavy
def test_queries_with_ties_are_left_out_and_counted(tmp_path: Path) -> None:
    keys = np.array([[[1, 0], [0, 1], [1, 0], [0, 2]]], "float32")
    queries = np.array([[[1, 3], [1, 0], [-1, 1], [1, 5]]], "float32")
    parts = {"layer0.keys": keys, "layer0.values": keys, "layer0.queries": queries}
    np.savez(tmp_path / "heads.npz", **parts)
    assert audit(tmp_path / "heads.npz", "-o", tmp_path / "out", "-j", 1) == 0
    by_name = {s["name"]: s for s in summary(tmp_path / "out")["heads"][0]["statements"]}
    assert by_name["selection"]["certificates"] == ["selection-0-1.yaml", "selection-2-4.yaml"]
    assert by_name["selection"]["missing"].startswith("1 query with a tie")
    assert by_name["selection"]["figures"]["queries"] == 3


def test_a_head_that_is_its_surrogate_and_has_no_outputs_says_so(tmp_path: Path) -> None:
    zeros = {f"layer0.{name}": np.zeros((1, 3, 2), "float32") for name in ("queries", "keys", "values")}
    np.savez(tmp_path / "heads.npz", **zeros)
    assert audit(tmp_path / "heads.npz", "-o", tmp_path / "out", "-j", 1, "--no-check") == 2
    missing = {s["name"]: s["missing"] for s in summary(tmp_path / "out")["heads"][0]["statements"]}
    assert "may be 0" in missing["deviation"]
    assert missing["prompt-length"] == "it needs the deviation"
    assert "no query has one token" in missing["selection"]
    assert all(missing.values())


@pytest.mark.parametrize(("factor", "words"), [(9, "the scores vary too much"), (3, "no length up to 1e+12")])
def test_scores_of_huge_variance_have_no_length(factor: int, words: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    big = {name: rng.normal(size=(1, 9, 3)) * factor for name in ("layer0.queries", "layer0.keys")}
    recorded(tmp_path / "heads.npz", **{**big, "layer0.values": rng.normal(size=(1, 9, 3))})
    options = ["--state", "deviation", "--state", "prompt-length"]
    assert audit(tmp_path / "heads.npz", "-o", tmp_path / "out", "-j", 1, *options) == 0
    found = summary(tmp_path / "out")
    (_, length) = found["heads"][0]["statements"]
    assert words in length["missing"]
    assert length["certificates"] == []
    assert dict(zip((column.name for column in COLUMNS), rows(found)[0], strict=True))["enough"] == "none"


@pytest.mark.heavy
def test_lengths_are_those_of_the_mean_square(tmp_path: Path) -> None:
    """One token fewer would not do, up to what the rounding of the law adds."""
    recorded(tmp_path / "heads.npz", tokens=20)
    assert audit(tmp_path / "heads.npz", "-o", tmp_path / "out", "-j", 1, "--heads", 0) == 0
    figures = {s["name"]: s["figures"] for s in summary(tmp_path / "out")["heads"][0]["statements"]}["prompt-length"]
    arrays = np.load(tmp_path / "out" / "layer00-head00" / "arrays.npz")
    s = arrays["queries"][figures["query"]].astype(float) @ arrays["keys"].T.astype(float) / np.sqrt(3)
    v = arrays["values"].astype(float)
    centred = s - s.mean()
    spread, shift = v.var(axis=0).sum(), ((centred @ v / 20) ** 2).sum()
    goal = 0.01 * float(figures["within"]) ** 2
    length = 1 + np.exp(s.var()) * ((spread + shift) / goal - 1)
    assert length <= figures["length"] <= length * 1.0001 + 2


def test_the_law_has_the_moments_of_score_and_value(tmp_path: Path) -> None:
    arrays = {
        name: np.random.default_rng(4).normal(size=(30, 2)).astype("float32") for name in ("queries", "keys", "values")
    }
    head = Head(tmp_path, "1", 1.0, True, **arrays)
    law: Any = prompt_length.gaussian(head, 20)["law"]
    rows = np.column_stack([head.scores[20, :21], arrays["values"][:21]])
    assert np.allclose(np.array(law["mean"], float), rows.mean(axis=0), atol=1e-7)
    covariance = np.array(law["covariance"], float)
    assert np.allclose(covariance, np.cov(rows.T, bias=True), atol=2e-7)
    assert np.linalg.eigvalsh(covariance).min() > 0


@pytest.mark.parametrize(
    ("share", "expected"), [("0", "1"), ("1/2", "2"), ("51/100", "3"), ("9/10", "10"), ("1", "10")]
)
def test_quantiles_are_bounds_of_so_many(share: str, expected: str) -> None:
    assert deviation.quantile(["3", "10", "1", "2"], Fraction(share)) == expected


@pytest.mark.parametrize(
    ("clear", "expected"), [([], []), ([1, 1], [(0, 2)]), ([0, 1, 1, 0, 1], [(1, 3), (4, 5)]), ([0, 0], [])]
)
def test_runs_of_clear_queries(clear: list[int], expected: list[tuple[int, int]]) -> None:
    assert selection.runs(np.array(clear, bool)) == expected


# -- going on


def test_complete_heads_are_kept_and_changed_ones_are_made_anew(tmp_path: Path) -> None:
    recorded(tmp_path / "heads.npz")
    options = [tmp_path / "heads.npz", "-o", tmp_path / "out", "-j", 1, "--no-check", "--state", "deviation"]
    assert audit(*options) == 0
    folders = [tmp_path / "out" / f"layer00-head0{i}" for i in range(2)]
    before = [(folder / "head.json").stat().st_mtime_ns for folder in folders]
    (folders[1] / "deviation.yaml").write_text("something else")
    assert audit(*options) == 0
    after = [(folder / "head.json").stat().st_mtime_ns for folder in folders]
    assert after[0] == before[0]
    assert after[1] > before[1]
    assert certattn.check(folders[1] / "deviation.yaml").verdict is certattn.Verdict.VERIFIED
    # Another scale is another head.
    assert audit(*options, "--scale", "1/3") == 0
    assert (folders[0] / "head.json").stat().st_mtime_ns > after[0]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"inputs": 1}', '{"inputs": "x", "files": 3}', "[" * 9999])
def test_broken_notes_of_a_head_are_no_obstacle(content: str, tmp_path: Path) -> None:
    recorded(tmp_path / "heads.npz")
    options = [tmp_path / "heads.npz", "-o", tmp_path / "out", "-j", 1, "--heads", 0, "--state", "deviation"]
    assert audit(*options) == 0
    (tmp_path / "out" / "layer00-head00" / "head.json").write_text(content)
    assert audit(*options) == 0


def test_a_certificate_that_does_not_verify_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes that agree with a certificate that was weakened: the check decides, not the notes."""
    recorded(tmp_path / "heads.npz")
    options = [tmp_path / "heads.npz", "-o", tmp_path / "out", "-j", 1, "--heads", 0, "--state", "deviation"]
    assert audit(*options, "--no-check") == 0
    folder = tmp_path / "out" / "layer00-head00"
    path, notes = folder / "deviation.yaml", json.loads((folder / "head.json").read_text())
    path.write_text(re.sub("at_most: .*", "at_most: 1/9", path.read_text(), count=1))
    notes["files"]["deviation.yaml"] = sha256(path)
    (folder / "head.json").write_text(json.dumps(notes))
    assert audit(*options) == 1
    found = summary(tmp_path / "out")
    assert found["heads"][0]["statements"][0]["verdicts"] == ["refuted"]
    assert table(found)[1].endswith("refuted")


def resumed(out: Path, *options: Any) -> list[dict[str, Any]]:
    """The summary of the same audit again, without what differs from run to run."""
    assert audit(*options, "-o", out, "-j", 1) == 0
    found = summary(out)
    for head in found["heads"]:
        for statement in head["statements"]:
            for key in ("seconds", "check_seconds"):
                statement.pop(key, None)
    heads: list[dict[str, Any]] = found["heads"]
    return heads


def renote(folder: Path, change: Any) -> None:
    """Notes that agree with whatever the folder holds now, and then what `change` makes of them."""
    notes = json.loads((folder / "head.json").read_text())
    notes["files"] = {name: sha256(folder / name) for name in notes["files"]}
    change(notes)
    (folder / "head.json").write_text(json.dumps(notes))


def copied(name: str) -> Any:
    return lambda mine, other: (mine / name).write_bytes((other / name).read_bytes())


def rewritten(name: str, old: str, new: str) -> Any:
    def change(mine: Path, other: Path) -> None:
        text = (mine / name).read_text()
        (mine / name).write_text(re.sub(old, new, text, count=1))
        assert (mine / name).read_text() != text

    return change


def elsewhere(notes: Any) -> None:
    notes["files"]["../layer00-head01/deviation.yaml"] = notes["files"].pop("deviation.yaml")


ATTACKS: dict[str, tuple[Any, Any]] = {
    "the certificate of another head": (copied("deviation.yaml"), None),
    "a tail of another head": (copied("prompt-length.yaml"), None),
    "a certificate of another claim": (
        lambda mine, other: (mine / "deviation.yaml").write_bytes((mine / "selection.yaml").read_bytes()), None),
    "the folder of another head": (
        lambda mine, other: [copied(path.name)(mine, other) for path in other.glob("*.*") if path.stem != "head"],
        None),
    "another scale": (rewritten("deviation.yaml", r"1/sqrt\(3\)", "1/sqrt(4)"), None),
    "another probability": (rewritten("prompt-length.yaml", "probability: 0.01", "probability: 0.5"), None),
    "fewer queries": (rewritten("selection.yaml", "rows: 0:9", "rows: 0:8"), None),
    "a token over two lines": (rewritten("selection.yaml", r"selected: \[\d+", r'selected: ["1\\n\\e[31m2"'), None),
    "a number of a million digits": (rewritten("deviation.yaml", "at_most: .*", "at_most: 1e999999999"), None),
    "no certificate": (rewritten("deviation.yaml", "claim", "clam"), None),
    "a file outside of the folder": (lambda mine, other: None, elsewhere),
    "no statement": (lambda mine, other: None, lambda notes: notes.update(files={}, statements=[])),
    "fewer statements": (lambda mine, other: None, lambda notes: notes["files"].pop("deviation.yaml")),
    "text for a time": (lambda mine, other: None, lambda notes: notes.update(seconds={"deviation": "long"})),
    "text for a mapping": (lambda mine, other: None, lambda notes: notes.update(seconds="long")),
    "an endless time": (lambda mine, other: None, lambda notes: notes["seconds"].update(deviation=float("inf"))),
    "a list for a digest": (lambda mine, other: None, lambda notes: notes["files"].update({"deviation.yaml": [1]})),
}  # fmt: skip


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """An audit of two recorded heads, and its heads in the summary."""
    folder = tmp_path_factory.mktemp("audited")
    recorded(folder / "heads.npz")
    return folder, resumed(folder / "out", folder / "heads.npz")


@pytest.mark.heavy
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_resumed_audit_says_what_its_certificates_prove(
    attack: str, audited: tuple[Path, list[dict[str, Any]]], tmp_path: Path
) -> None:
    """Whatever was put into a head's folder, with notes that fit it: the head is made anew."""
    folder, expected = audited
    shutil.copytree(folder / "out", tmp_path / "out")
    mine, other = (tmp_path / "out" / f"layer00-head0{i}" for i in range(2))
    files, notes = ATTACKS[attack]
    files(mine, other)
    renote(mine, notes or (lambda _: None))
    assert resumed(tmp_path / "out", folder / "heads.npz") == expected


def test_figures_are_not_those_of_notes(audited: tuple[Path, list[dict[str, Any]]], tmp_path: Path) -> None:
    folder, expected = audited
    shutil.copytree(folder / "out", tmp_path / "out")
    for path in (tmp_path / "out").glob("*/head.json"):
        renote(path.parent, lambda notes: notes.update(statements=[{"name": "deviation", "figures": {"at_most": "0"}}]))
    assert resumed(tmp_path / "out", folder / "heads.npz") == expected


@pytest.mark.heavy
def test_reasons_are_found_again(tmp_path: Path) -> None:
    """Of a note nothing is believed that no certificate shows: what is missing was tried, now or before."""
    recorded(tmp_path / "heads.npz")
    options = [tmp_path / "heads.npz", "--heads", 0, "--causal"]
    expected = resumed(tmp_path / "out", *options)
    folder = tmp_path / "out" / "layer00-head00"
    for name in ("selection.yaml", "deviation.yaml", "prompt-length.yaml"):
        (folder / name).unlink()
    renote_without = json.loads((folder / "head.json").read_text())
    renote_without["files"] = {"arrays.npz": sha256(folder / "arrays.npz")}
    (folder / "head.json").write_text(json.dumps(renote_without))
    assert resumed(tmp_path / "out", *options) == expected


def test_a_verdict_counts_for_the_statement_that_the_figures_are_from_alone(tmp_path: Path) -> None:
    verified = Report("some.yaml", certattn.Verdict.VERIFIED, digest="a" * 64)
    assert about("a" * 64, tmp_path, verified) is verified
    other = about("b" * 64, tmp_path, verified)
    assert other.verdict is certattn.Verdict.INCONCLUSIVE
    assert "changed since its figures were read" in other.reason


def test_what_an_earlier_audit_left_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded(tmp_path / "heads.npz")
    options = [tmp_path / "heads.npz", "-o", tmp_path / "out", "-j", 1, "--state", "deviation"]
    assert audit(*options) == 0
    assert capsys.readouterr().err == ""
    assert audit(*options, "--heads", 1) == 0
    assert "1 folder of" in (said := capsys.readouterr().err)
    assert "not part of this audit: layer00-head00;" in said
    assert run(["report", str(tmp_path / "out"), "--format", "markdown", "-o", str(tmp_path / "page.md")]) == 0
    _, rest = (tmp_path / "page.md").read_text().replace("\\", "").split("## No part of the audit")
    assert "layer00-head00" in rest
    assert "layer00-head01" not in rest


def test_an_audit_without_certificates_proves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded(tmp_path / "heads.npz")
    options = [tmp_path / "heads.npz", "-o", tmp_path / "out", "-j", 1, "--causal", "--state", "spectral-distance"]
    assert audit(*options) == 2
    assert "0 certificates about 2 heads, 0 verified" in capsys.readouterr().out


@pytest.mark.heavy
def test_an_interrupted_audit_ends_at_once_and_goes_on(tmp_path: Path) -> None:
    recorded(tmp_path / "heads.npz", tokens=400)
    command = [sys.executable, "-m", "certattn", "audit", "heads.npz", "-o", "out", "-j", "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, env=environment, start_new_session=True)
    until = time.monotonic() + 60
    while not list(tmp_path.glob("out/*/arrays.npz")) and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said.strip()) == (130, b"certattn: interrupted; the same command goes on from here")
    assert not (tmp_path / "out" / "audit.json").exists()
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    small = recorded(tmp_path / "heads.npz")
    assert audit(small, "-o", tmp_path / "out", "-j", 1, "--heads", 0, "--state", "deviation") == 0


# -- what is refused


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "no prompt; expected token ids (--ids FILE) or a text (--text FILE)"),
        (["--ids", "none.txt"], "none.txt: no such file or directory, expected a file of token ids"),
        (["--ids", "words.txt"], "words.txt: not a file of token ids"),
        (["--ids", "empty.txt"], "empty.txt: no token ids"),
        (["--ids", "far.txt"], "the token id 20, expected 0 to 19"),
        (["--ids", "long.txt"], "11 token ids, expected at most 10; --tokens 10 takes that many from the beginning"),
        (["--ids", "ids.txt", "--tokens", "11"], "--tokens is 11, but the model takes 10 tokens"),
        (["--ids", "square.npy"], "square.npy: int64 of shape (2, 2), expected one row of integers"),
        (["--ids", "ids.txt", "--causal"], "--causal and --scale are for recorded heads"),
        (["--ids", "ids.txt", "--layers", "3"], "layer 3, expected 0 to 2"),
        (["--ids", "ids.txt", "--heads", "1:1"], "--heads is '1:1', expected such as 0:3 or 0,2,5"),
        (["--ids", "ids.txt", "--probability", "1"], "--probability is '1', expected a number above 0 and below 1"),
        (["--ids", "ids.txt", "-o", "ids.txt"], "ids.txt: exists and is not a folder"),
        (["--ids", "ids.txt", "-o", "model"], "model: the folder of the model; choose another name for -o"),
        (["--ids", "ids.txt", "-o", "no/such"], "no: no such folder"),
        (["--ids", "heads.npz"], "heads.npz: a .npz file, expected token ids: a .npy file, or a text"),
        (["--ids", "huge.txt"], "huge.txt: not a file of token ids (a number of more than 64 bits)"),
    ],
)
def test_options_that_make_no_sense(
    options: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    model(tmp_path)
    for name, text in {
        "words.txt": "three",
        "empty.txt": " ",
        "far.txt": "20",
        "long.txt": "1 " * 11,
        "huge.txt": "9" * 30,
    }.items():
        (tmp_path / name).write_text(text)
    recorded(tmp_path / "heads.npz")
    np.save(tmp_path / "square.npy", np.eye(2, dtype=np.int64))
    assert audit("model", *(["-o", "out"] if "-o" not in options else []), *options) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.glob("out/*"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"layer0.keys": np.ones((2, 9, 4))}, "a value for each key"),
        ({"layer0.values": np.ones((2, 8, 3))}, "a value for each key"),
        ({"layer0.keys": np.ones((9, 3))}, "layer0.keys has the shape (9, 3)"),
        ({"layer0.keys": np.full((2, 9, 3), np.nan)}, "layer0.keys holds NaN or an infinity"),
        ({"layer0.keys": np.full((2, 9, 3), 1e300)}, "heads.npz: layer 0, head 0: numbers beyond float32"),
        ({"layer0.keys": np.ones((2, 9, 3), int)}, "layer0.keys is int64, expected floats"),
        ({"layer00.queries": np.ones((2, 9, 3))}, "the array 'layer00.queries', which names no part of a layer"),
        ({"layer0.weights": np.ones((2, 9, 3))}, "the array 'layer0.weights', which names no part of a layer"),
        ({"layer0.queries": np.ones((2, 9, 0))}, "layer0.queries has the shape (2, 9, 0)"),
        ({"layer1.keys": np.ones((2, 9, 3))}, "no array 'layer1.queries'"),
        ({"layer1.shares": np.ones((2, 9))}, "the array 'layer1.shares', which names no part of a layer"),
        ({"layer0.shares": np.ones((2, 8))}, "expected floats >= 0 of shape (2, 9)"),
        ({"layer0.shares": np.full((2, 9), np.nan)}, "expected floats >= 0 of shape (2, 9)"),
        ({"layer0.shares": np.full((2, 9), -1.0)}, "expected floats >= 0 of shape (2, 9)"),
        ({"layer0.shares": np.ones((2, 9), int)}, "layer0.shares is int64 of shape (2, 9), expected floats >= 0"),
    ],
)
def test_recorded_heads_that_do_not_fit(
    changes: dict[str, Any], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded(tmp_path / "heads.npz", **changes)
    assert audit(tmp_path / "heads.npz", "-o", tmp_path / "out", "-j", 1) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said


@pytest.mark.parametrize("scale", ["1e400", "0", "1e-400", "two"])
def test_a_scale_that_doubles_do_not_hold(scale: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded(tmp_path / "heads.npz")
    assert audit(tmp_path / "heads.npz", "--scale", scale, "-o", tmp_path / "out", "-j", 1) == 2
    assert f"the scale is '{scale}', expected a number" in capsys.readouterr().err


@pytest.mark.filterwarnings("error")
def test_a_probability_below_doubles_has_no_length(tmp_path: Path) -> None:
    recorded(tmp_path / "heads.npz")
    options = ["-o", tmp_path / "out", "-j", 1, "--heads", 0, "--state", "deviation", "--state", "prompt-length"]
    for probability in ("1e-400", "1e-310"):
        assert audit(tmp_path / "heads.npz", *options, "--probability", probability) == 0
        missing = summary(tmp_path / "out")["heads"][0]["statements"][1]["missing"]
        assert "too small for doubles" in missing or "no length up to" in missing


@pytest.mark.filterwarnings("error")
def test_huge_scores_are_the_reason_that_is_said(tmp_path: Path) -> None:
    keys = np.random.default_rng(0).normal(size=(1, 5, 2)).astype("float32")
    recorded(tmp_path / "heads.npz", **dict.fromkeys(("layer0.keys", "layer0.values", "layer0.queries"), keys))
    audit(tmp_path / "heads.npz", "--scale", "1e20", "-o", tmp_path / "out", "-j", 1, "--state", "deviation")
    (statement,) = summary(tmp_path / "out")["heads"][0]["statements"]
    assert "the scores are too large" in statement["missing"]


def changed_header(path: Path, change: Any) -> None:
    """A safetensors file with another header before the same numbers."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"data_offsets": [4, 0]}, "has the data_offsets [4, 0], expected where its bytes begin and end"),
        ({"data_offsets": "all"}, "has the data_offsets 'all'"),
        ({"data_offsets": [0, 10**9]}, "a part is missing"),
        ({"dtype": "I64"}, "I64 of shape"),
        ({"shape": [-1]}, "has the shape [-1], expected whole numbers"),
    ],
)
def test_weights_whose_header_does_not_fit(
    change: dict[str, Any], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = model(tmp_path) / "model.safetensors"
    changed_header(weights, lambda header: next(iter(header.values())).update(change))
    assert audit(tmp_path / "model", "--ids", tmp_path / "ids.txt", "-o", tmp_path / "out") == 2
    said = capsys.readouterr().err
    assert words in said
    assert "model.safetensors: not a .safetensors file (the array '" in said


def test_weights_whose_end_is_missing_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = model(tmp_path) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    assert audit(tmp_path / "model", "--ids", tmp_path / "ids.txt", "-o", tmp_path / "out", "--layers", 0) == 2
    assert "a part is missing" in capsys.readouterr().err


@pytest.mark.parametrize("made", [tiny_models.bert, tiny_models.gpt2, tiny_models.llama])
def test_layers_beyond_the_configuration_are_refused(
    made: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = model(tmp_path, made) / "config.json"
    found = json.loads(config.read_text())
    name = "n_layer" if "n_layer" in found else "num_hidden_layers"
    config.write_text(json.dumps({**found, name: 2}))
    assert audit(tmp_path / "model", "--ids", tmp_path / "ids.txt", "-o", tmp_path / "out") == 2
    assert "config.json says 2 layers, but there is a tensor '" in capsys.readouterr().err


@pytest.mark.heavy
def test_reasons_stand_below_the_table_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded(tmp_path / "heads.npz")
    assert audit(tmp_path / "heads.npz", "--causal", "-o", tmp_path / "out", "-j", 1) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "no spectral-distance for 2 heads, such as 0.0: no law is known of random weights under a causal" in said


def test_recorded_heads_may_share_keys(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    shared = {"layer0.keys": rng.normal(size=(1, 9, 3)), "layer0.values": rng.normal(size=(1, 9, 3))}
    recorded(tmp_path / "heads.npz", **shared)
    assert audit(tmp_path / "heads.npz", "-o", tmp_path / "out", "-j", 1, "--state", "deviation", "--no-check") == 0
    stored = [np.load(tmp_path / "out" / f"layer00-head0{i}" / "arrays.npz")["keys"] for i in range(2)]
    assert np.array_equal(*stored)
    three = {name: np.repeat(array, 3, axis=0) for name, array in shared.items()}
    recorded(tmp_path / "heads.npz", **three)
    assert audit(tmp_path / "heads.npz", "-o", tmp_path / "out") == 2


def test_shares_of_the_stream_may_be_recorded(tmp_path: Path) -> None:
    shares = np.array([np.arange(9.0), np.full(9, 0.5)])
    recorded(tmp_path / "heads.npz", **{"layer0.shares": shares})
    options = [tmp_path / "heads.npz", "-o", tmp_path / "out", "-j", 1, "--state", "deviation", "--no-check"]
    assert audit(*options) == 0
    assert [head["measures"]["share"] for head in summary(tmp_path / "out")["heads"]] == [4, 0.5]
    assert table(summary(tmp_path / "out"))[0].split()[:2] == ["head", "change"]


def test_a_file_without_heads_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "heads.npz", keys=np.ones((2, 2)))
    assert audit(tmp_path / "heads.npz", "-o", tmp_path / "out") == 2
    assert "no recorded heads; found keys; expected layer0.queries" in capsys.readouterr().err


def test_texts_without_the_package_say_what_they_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = model(tmp_path)
    (tmp_path / "page.txt").write_text("a")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert audit(path, "--text", tmp_path / "page.txt", "-o", tmp_path / "out") == 2
    assert "pip install tokenizers" in capsys.readouterr().err


def test_indices_are_sorted_and_named_where_they_are_wrong() -> None:
    assert chosen([2, 0, 2], 3, "head") == [0, 2]
    assert chosen(None, 2, "head") == [0, 1]
    with pytest.raises(UsageError, match="head 3, expected 0 to 2"):
        chosen([3], 3, "head")
