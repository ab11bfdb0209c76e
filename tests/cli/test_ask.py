"""`certattn ask`: every claim is found, in words that people use, and every answer is a command that exists."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from certattn.cli.ask import answers, ask, questions
from certattn.cli.main import cli
from certattn.kernel.theorems import CHAPTER_OF

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_claim_answers_a_question() -> None:
    named = {claim: [each for each in questions() if f"generate {claim} " in each.command] for claim in CHAPTER_OF}
    assert [claim for claim, found in named.items() if not found] == []


def test_every_page_is_there() -> None:
    assert [each.page for each in questions() if not (DOCS / each.page).is_file()] == []


@pytest.mark.parametrize("command", [each.command for each in questions() if each.command.startswith("certattn ")])
def test_every_answer_is_a_command_with_its_options(command: str) -> None:
    _, *words = shlex.split(command)
    found: click.Command = cli
    while isinstance(found, click.Group):
        with click.Context(found) as context:
            inner = found.get_command(context, words.pop(0))
        assert inner is not None
        found = inner
    with click.Context(found) as context:
        # Arguments are looked at where the command runs: files need not exist here.
        options, rest, _ = found.make_parser(context).parse_args(args=words)
    assert options
    assert rest == []
    missing = [each for each in found.params if each.required and options.get(each.name or "") in (None, ())]
    assert missing == []


ASKED = {
    "how long must my prompt be": "output-tail",
    "how many tokens are enough": "output-tail",
    "how long must the prompt be for every query of a ball": "output-tail",
    "my tokens are RMS-normalised": "output-tail",
    "my tokens are clipped": "output-tail",
    "tokens in a cube": "output-tail",
    "is my flash attention kernel right?": "compare",
    "numerical error of a bf16 kernel": "compare",
    "int8 KV cache": "cache-error",
    "what happens when I evict tokens": "cache-error",
    "quantization error": "cache-error",
    "is this head linear": "output-deviation",
    "robustness of a head in a ball": "output-deviation",
    "where does gradient descent go": "selection-direction",
    "implicit bias of attention training": "selection-direction",
    "support vectors": "max-margin",
    "in-context learning length of prompts": "risk-transfer",
    "how many training prompts": "stochastic-descent",
    "several epochs on the same prompts": "full-batch-descent",
    "rank collapse": "singular-values",
    "Kolmogorov distance of a spectrum": "spectral-distance",
    "Stieltjes transform": "equivalent-law",
    "which token does the head attend to": "selection-on-a-head",
    "heads of BERT": "audit",
    "verify a paper": "check",
    "github actions": "init",
    "latex": "show",
    "what do I have to trust": "trust",
}


@pytest.mark.parametrize("words", ASKED)
def test_what_people_ask(words: str) -> None:
    assert any(f" {ASKED[words]} " in f"{each.command} " for each in answers(words, 2)), answers(words, 2)


FIRST = {
    "l1 margin": ["max-margin", "regularization-path"],
    "l-infinity margin": ["max-margin", "regularization-path"],
    "nuclear norm margin": ["max-margin", "regularization-path"],
    "regularization path in the l1 norm": ["regularization-path"],
    "basin of attraction": ["selection-basins"],
    "which start ends where": ["selection-basins"],
    "singular values of random attention and the quarter circle": ["attention-spectrum"],
    "is random attention a quarter circle": ["attention-spectrum"],
}


@pytest.mark.parametrize("words", FIRST)
def test_what_comes_first(words: str) -> None:
    found = answers(words, len(FIRST[words]))
    assert [each.command.split()[2] for each in found] == FIRST[words]


def test_words_of_a_search_language_are_words() -> None:
    assert answers('spectrum" OR NOT (x', 1) == answers("spectrum x", 1) != []
    assert answers("how is it (of) the", 3) == []


def test_what_is_printed() -> None:
    result = CliRunner().invoke(ask, ["rank", "collapse", "--most", "1"])
    assert result.output.splitlines() == [
        "What are the singular values, norms and ranks of this attention matrix?",
        '  certattn generate singular-values head.npz --scale "1/sqrt(64)" -o spectrum.yaml',
        "  docs/claims/spectrum/singular-values.md",
    ]
    (found,) = json.loads(CliRunner().invoke(ask, ["rank", "collapse", "--most", "1", "--format", "json"]).output)
    assert sorted(found) == ["command", "page", "question"]
    every = CliRunner().invoke(ask, []).output
    assert [each.question for each in questions() if each.question not in every] == []


def test_what_fits_nothing_is_said() -> None:
    result = CliRunner().invoke(cli, ["ask", "banana"])
    assert "no question matches 'banana'" in str(result.exception)
