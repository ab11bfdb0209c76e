"""The commands of `certattn generate` are what the provers' descriptions say, and fit what the provers take."""

from __future__ import annotations

import inspect
import itertools
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import click
import pytest

from certattn.cli.generate import first_line, generate
from certattn.cli.generate.command import command_of
from certattn.kernel.theorems import CHAPTER_OF, module_of
from certattn.provers.commands import Command, Option, words_of

Run = Callable[..., Any]


def words(text: str) -> str:
    """The text without the spaces and lines into which a terminal breaks it."""
    return "".join(text.split())


def described() -> Iterator[tuple[str, Command, dict[str, inspect.Parameter]]]:
    """Every claim, the description of its command, and the inputs of its prover."""
    for claim in CHAPTER_OF:
        prover = import_module(module_of("provers", claim))
        yield claim, prover.COMMAND, dict(inspect.signature(prover.generate).parameters)


def test_the_help_says_of_every_claim_what_its_prover_says(certattn_run: Run) -> None:
    listed = words(certattn_run("generate", "--help").out)
    for claim in CHAPTER_OF:
        sentence = first_line(claim)
        assert str(import_module(module_of("provers", claim)).__doc__).splitlines()[0] == sentence
        assert sentence.endswith(".")
        assert words(f"{claim} {sentence}") in listed
        assert words(certattn_run("generate", claim, "--help").out).count(words(sentence)) == 1


def test_the_help_imports_no_prover_of_a_claim() -> None:
    script = (
        "import sys\nfrom certattn.cli.main import run\nrun(['generate', '--help'])\n"
        "print('MODULES', *(name for name in sys.modules if name.startswith('certattn.provers.')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    imported = done.stdout.split("MODULES")[1].split()
    assert "certattn.provers.commands" in imported
    assert not {module_of("provers", claim) for claim in CHAPTER_OF} & set(imported)


def test_options_set_inputs_that_the_prover_has() -> None:
    for claim, command, inputs in described():
        assert {"out", "note"} <= inputs.keys(), claim
        assert bool(command.progress) is ("said" in inputs), claim
        for taken in command.takes:
            own = isinstance(taken, Option) and (taken.picture or taken.input == "plot")
            made = command.inputs is not dict and taken.input not in inputs
            assert taken.input in inputs or own or made, f"{claim}: {taken.input}"
            # A default that stands twice would be two.
            assert not (isinstance(taken, Option) and taken.input in inputs and taken.default is not None)


def test_whatever_a_prover_needs_is_asked_for() -> None:
    for claim, command, inputs in described():
        asked = {argument.kind.input or argument.input for argument in command.arguments}
        asked |= {option.input for option in command.options if option.required}
        needed = {name for name, of in inputs.items() if of.default is of.empty and of.kind is of.KEYWORD_ONLY}
        assert needed <= asked, claim


def test_what_is_required_is_missed() -> None:
    found = 0
    for claim, command, _ in described():
        needed = {"--out": "c.yaml", **{of.flags: "2" for of in command.options if of.required}}
        arguments = ["file.yaml"] * len(command.arguments)
        command_of(claim).make_context(claim, [*arguments, *itertools.chain(*needed.items())])
        for left_out in needed:
            given = [word for flag, value in needed.items() if flag != left_out for word in (flag, value)]
            with pytest.raises(click.MissingParameter) as missed:
                command_of(claim).make_context(claim, [*arguments, *given])
            assert missed.value.param is not None
            assert left_out in missed.value.param.opts
            found += 1
        for argument in command.arguments:
            with pytest.raises(click.MissingParameter) as missed:
                command_of(claim).make_context(claim, list(itertools.chain(*needed.items())))
            assert missed.value.param is not None
            assert missed.value.param.name == argument.input
    assert found > len(CHAPTER_OF)


def test_every_example_is_a_command_line() -> None:
    for claim in CHAPTER_OF:
        examples = words_of(claim).examples.replace("\\\n", " ").splitlines()
        assert examples, claim
        for example in examples:
            # Raises click.UsageError.
            command_of(claim).make_context(claim, shlex.split(example))


def test_the_shell_completes_claims_without_their_provers() -> None:
    with click.Context(generate) as context:
        found = {item.value: item.help for item in generate.shell_complete(context, "proposition")}
    assert found == {claim: first_line(claim) for claim in ("proposition-3-1", "proposition-3-4")}
