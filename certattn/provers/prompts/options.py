"""Options of the commands of several claims about random prompts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from certattn.kernel.errors import UsageError
from certattn.provers.commands import Option, entries

GRADIENT = Option(
    "--gradient", "The gradient in U, in the Hilbert-Schmidt norm, or in V, in the operator norm.", ("U", "V")
)
DIRECTION = Option(
    "--direction",
    "A direction u of the output.",
    metavar="'U1, U2, ...'",
    sets="directions",
    many=True,
    parse=entries,
)
THRESHOLD = Option("--exceeds", "The threshold that is rarely exceeded; the smallest, if left out.", metavar="EPS")
PROBABILITY = Option("--probability", "How rarely; the smallest probability, if left out.", metavar="DELTA")
ONE, ONWARDS = LENGTHS = ("one", "onwards")
OF_LENGTHS = Option(
    "--lengths",
    "State it for one length, or for every larger one too (the default where the length is found).",
    LENGTHS,
)
LENGTH = Option("--length", "The number of tokens; the smallest, if left out.", metavar="L")


STATED_LENGTH = replace(LENGTH, help="The number of tokens, where the file does not say it.")
OF_STATED_LENGTHS = replace(OF_LENGTHS, help="State it for one length, or for every larger one too.")


def with_length(inputs: dict[str, Any]) -> dict[str, Any]:
    """The inputs with the length of the options in what is given. Raises UsageError where it is there already."""
    length, lengths = inputs.pop("length"), inputs.pop("lengths")
    given = inputs["given"]
    if length is not None and "length" in given:
        raise UsageError("the length is given twice: in the law's file and as an option")
    length = given.get("length") if length is None else length
    if lengths is not None and length is not None:
        count = length["at_least"] if isinstance(length, dict) else length
        length = {"at_least": count} if lengths == ONWARDS else count
    if length is None and "law" in given and inputs.get("at_most") is None:
        also = ", or --at-most to find one" if "at_most" in inputs else ""
        raise UsageError(f"no length; expected `length` in the file, or --length{also}")
    return {**inputs, "given": {**given, **({} if length is None else {"length": length})}}


def left_out(inputs: Mapping[str, Any]) -> list[str]:
    """Which of the threshold, the probability and the length are to be found."""
    stated = {**inputs, "length": inputs["length"] or inputs["given"].get("length")}
    return [name for name in ("exceeds", "probability", "length") if stated[name] is None]
