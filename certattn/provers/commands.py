"""What `certattn generate CLAIM` asks for: the descriptions from which its commands are made.

A prover's module says in its first line what its command does, and ends with `COMMAND = Command(...)`; what else the
help says stands in the file of the claim's name beside it. An option hands
an input of its name to `generate`, and has the default of that input; what it may be is taken from the tables of prover
and kernel. Nothing here knows the library that reads command lines: `certattn.cli.generate` does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems import CHAPTER_OF


@dataclass(frozen=True)
class Whole:
    """A whole number, at least and at most so much."""

    least: int
    most: int | None = None


@dataclass(frozen=True)
class _File:
    section: str = ""

    @property
    def input(self) -> str:
        """The input that a section is."""
        return self.section.rpartition(".")[2]


@dataclass(frozen=True)
class Yaml(_File):
    """A YAML file with a section of the certificate: errors in the section are errors in the file.

    Some `words` in the place of a file stand for themselves.
    """

    words: Collection[str] = ()

    def is_yaml(self, typed: str) -> bool:
        return typed not in self.words


@dataclass(frozen=True)
class Arrays(_File):
    """A file with arrays, which is the input `source`; where a section is named, possibly a YAML file with that."""

    def is_yaml(self, typed: Path) -> bool:
        return self.section != "" and typed.suffix in (".yaml", ".yml")


# What may become of arrays that a certificate is about.
DATA_MODES: Final = ("auto", "copy", "reference")

# bool is a flag, text is as it is typed, and a collection holds the words of a choice.
Kind = type | Whole | Yaml | Arrays | Collection[str]


@dataclass(frozen=True)
class Argument:
    """The file that a command is about; `name` stands for it in the help."""

    name: str
    kind: Yaml | Arrays

    @property
    def input(self) -> str:
        return "source" if isinstance(self.kind, Arrays) else self.kind.input


@dataclass(frozen=True)
class Option:
    """An option, which sets an input of `generate`.

    flags : its name, or two for yes and no, such as `--centred/--not-centred`.
    help : what it is for.
    kind : what it takes.
    metavar : what stands for that in the help.
    sets : the input, where it is not called as the option.
    many : whether it may be repeated; the input is then a list of all.
    required : whether it has to be there.
    default : only of what is no input of `generate`: it is made into one by `Command.inputs`, or is the picture's.
    parse : what is made of a text, or raises UsageError.
    gather : what is made of all of `many`.
    picture : whether it is for the picture of the certificate.
    """

    flags: str
    help: str = ""
    kind: Kind = str
    metavar: str | None = None
    sets: str = ""
    many: bool = False
    required: bool = False
    default: Any = None
    parse: Callable[[str], Any] | None = None
    gather: Callable[[Iterable[Any]], Any] = list
    picture: bool = False

    @property
    def input(self) -> str:
        return self.sets or self.flags.partition("/")[0].removeprefix("--").replace("-", "_")


# Where a certificate says little, in sentences.
Rule = Callable[[Certificate], Iterable[str]]


class DoubtWarning(UserWarning):
    """A certificate was made that says little, or probably not what was meant."""


class Command:
    """A command. All have `--out`, and `--note` for the input `note`.

    takes : its argument, if it has one, and its options in the order of the help.
    inputs : what is made of what was typed, by the names of inputs: the inputs of `generate`. Raises UsageError.
    finding : a sentence about what was found, from the certificate and the inputs; "" for none.
    doubts : rules of `provers.doubts` that say where what was found says little.
    progress : what is counted during long runs, by the input `said`.
    """

    def __init__(
        self,
        *takes: Argument | Option,
        inputs: Callable[[dict[str, Any]], dict[str, Any]] = dict,
        finding: Callable[[Certificate, Mapping[str, Any]], str] = lambda certificate, inputs: "",
        doubts: Iterable[Rule] = (),
        progress: str = "",
    ) -> None:
        self.inputs, self.finding, self.doubts, self.progress = inputs, finding, tuple(doubts), progress
        self.takes = takes
        self.arguments = [argument for argument in takes if isinstance(argument, Argument)]
        self.options = [option for option in takes if isinstance(option, Option)]
        # Whether an option names a file with arrays, beside the file that the command is about.
        self.names_arrays = any(option.input == "source" for option in self.options)


@dataclass(frozen=True)
class Words:
    """What the help of a command says beside its options, as it stands in `CHAPTER/CLAIM.yaml`.

    examples : one a line, without `certattn generate CLAIM`; lines that are indented go on.
    help : of the command, after the first line of the prover's module.
    file : what the YAML file holds, with an example.
    """

    examples: str
    help: str = ""
    file: str = ""


def words_of(claim: str) -> Words:
    """The words of a claim's command."""
    path = Path(__file__).parent / CHAPTER_OF[claim] / f"{claim}.yaml"
    return Words(**yaml.safe_load(path.read_text(encoding="utf-8")))


# -- what texts mean


def entries(text: str) -> list[str]:
    """The entries of a vector, such as "1, 1/2"."""
    return [entry.strip() for entry in text.split(",")]


def pair_for(option: str, expected: str) -> Callable[[str], tuple[str, str]]:
    """Reads two numbers such as "40, 40"."""

    def pair(text: str) -> tuple[str, str]:
        parts = entries(text)
        if len(parts) != 2:
            raise UsageError(f"{option} {text!r}: expected {expected}")
        return parts[0], parts[1]

    return pair


def index_list(text: str) -> list[int]:
    """The indices in a text such as "0, 2, 1". Raises UsageError."""
    parts = entries(text)
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise UsageError(f"--indices {text!r}: expected indices counted from 0, such as '0, 2, 1'")
    return [int(part) for part in parts]


def array_name(text: str) -> tuple[str, str]:
    """A field, and the name of its array in a file. Raises UsageError."""
    field, separator, name = text.partition("=")
    if not field or not separator or not name:
        raise UsageError(f"--array {text!r}: expected FIELD=NAME, such as keys=layer0.k or keys=head.npz[k]")
    return field, name


# -- options of several claims


def to_plot(what: str) -> Option:
    """Draws the picture of the certificate's claim; what the claim has beside it for the picture is marked as such."""
    return Option("--plot", what, Path, "FILE")


def to_state(what: str, words: Collection[str]) -> Option:
    """What the certificate states."""
    return Option("--state", what, words, sets="states", many=True)


def token_indices(what: str) -> Option:
    """A token of each input."""
    return Option("--indices", what, metavar="'A1, A2, ...'", parse=index_list)


def in_arithmetic(words: Collection[str]) -> Option:
    """In what bounds are computed."""
    what = "Balls in binary64 with proved bounds (fast), in Arb (any precision), or auto: the first that decides."
    return Option("--arithmetic", what, words)


SCORE_SCALE = Option("--scale", "Factor of the scores, an exact number.")
QUERY_ROWS = Option("--queries", "Which queries; all by default.", metavar="FIRST:STOP", sets="query_rows")
ARRAY = Option(
    "--array",
    "Name of an array in the file, or in another: keys=l0.k, keys=k.npy, keys=k.npz[l0].",
    metavar="FIELD=NAME",
    sets="names",
    many=True,
    parse=array_name,
    gather=dict,
)
HEAD = Option("--head", "Which head of arrays with several, counted from 0; in a batch, as 0,2.", metavar="H")
DATA = Option("--data", "Copy the arrays beside the certificate, or refer to them where they are.", DATA_MODES)
DATA_OR_AUTO = replace(
    DATA,
    help="Copy the arrays beside the certificate, or refer to them where they are; "
    "auto refers if they lie in the certificate's folder.",
)
