"""Keywords of `certattn.generate` on their way to a prover: fields of `given` among them, and misspelt ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from numbers import Integral
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from certattn.input_fields import fields_of
from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.decide.floating_point import default_floating_point
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import MalformedError, UsageError
from certattn.kernel.theorems import Claims, attribute_of
from certattn.provers.commands import Arrays, Command, Yaml
from certattn.provers.exact_inputs import did_you_mean, number_hint


def unknown(word: str, what: str, known: Collection[str]) -> UsageError:
    """The error that a word is not known, with the one that may be meant, or all that there are."""
    return UsageError(f"no {what} {word!r}{did_you_mean(word, known) or '; expected ' + ', '.join(known)}")


_MOST_SHOWN = 40
_PROVERS = Claims[Callable[..., Certificate]](attribute_of("provers", "generate"))
_COMMANDS = Claims[Command](attribute_of("provers", "COMMAND"))


def inputs_of(claim: str, passed: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a prover; fields of the certificate's `given` that were passed as keywords stand in its `given`.

    A name that is also an input is that. Raises UsageError for unknown names, and for missing ones.
    """
    parameters = _parameters(claim)
    named = [name for name, of in parameters.items() if of.kind is not of.VAR_KEYWORD]
    takes_arrays = len(named) < len(parameters)
    packs = "given" in named and not takes_arrays
    fields = [*fields_of([CLAIMS[claim].given])] if packs or takes_arrays else []
    rest = {name: value for name, value in passed.items() if name not in named}
    for name in rest:
        # Which arrays there are, the prover knows; but what is nearly an option is meant to be one.
        if name.removesuffix("_") not in fields and (not takes_arrays or did_you_mean(name, named, 0.8)):
            raise unknown(name, f"input of {claim}", [*named, *(field for field in fields if field not in named)])
    inputs = {name: value for name, value in passed.items() if name in named}
    if packs:
        inputs["given"] = _together(inputs.get("given", {}), {name.removesuffix("_"): of for name, of in rest.items()})
    else:
        inputs |= rest
    missing = [name for name in named if parameters[name].default is inspect.Parameter.empty and name not in inputs]
    if missing:
        raise UsageError(f"{claim}: {', '.join(missing)} missing; its inputs are {', '.join(named)}")
    _require_kinds(claim, inputs)
    return inputs


# What an input is to be, where its type says so; the rest the provers see to.
_KINDS: Mapping[type, tuple[tuple[type, ...], str]] = {
    int: ((Integral,), "a whole number"),
    Path: ((str, PathLike), "the name of a file"),
    Mapping: ((Mapping,), "a mapping"),
    dict: ((Mapping,), "a mapping"),
    Sequence: ((Iterable,), "a list"),
}


def _require_kinds(claim: str, inputs: Mapping[str, Any]) -> None:
    """Raises UsageError for an input that is nothing of what its type says."""
    for name, hint in get_type_hints(_PROVERS[claim]).items():
        value = inputs.get(name)
        parts = get_args(hint) if isinstance(hint, UnionType) or get_origin(hint) is Union else (hint,)
        kinds = {get_origin(part) or part for part in parts} - {NoneType}
        if Path in kinds:
            kinds.discard(str)
        (kind, *others) = kinds or {NoneType}
        if value is None or others or kind not in _KINDS:
            continue
        fitting, expected = _KINDS[kind]
        one = isinstance(value, str | bytes | Mapping) and kind is Sequence
        if not isinstance(value, fitting) or one:
            raise UsageError(f"{name} is {_shown(value)}, expected {expected}")


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= _MOST_SHOWN else f"a {type(value).__name__}"


def _parameters(claim: str) -> dict[str, inspect.Parameter]:
    with default_floating_point():
        prover = _PROVERS[claim]
    return {name: of for name, of in inspect.signature(prover).parameters.items() if name != "out"}


@contextmanager
def spelt_out(claim: str, passed: Mapping[str, Any], out: Path) -> Iterator[dict[str, Any]]:
    """The inputs with what texts in sections of the certificate stand for, as in files."""
    from certattn.provers import input_files

    read, source = dict(passed), passed.get("source")
    source = Path(source) if source and _COMMANDS[claim].names_arrays else None
    beside = input_files.columns_beside(source, passed.get("names") or {})
    with ExitStack() as held:
        for kind in (taken.kind for taken in _COMMANDS[claim].takes):
            section = passed.get(kind.input) if isinstance(kind, Yaml | Arrays) and kind.section else None
            if isinstance(kind, Yaml | Arrays) and isinstance(section, Mapping):
                read[kind.input] = held.enter_context(input_files.spelt_out(claim, kind.section, section, out, beside))
        yield read


def prove(claim: str, out: Path, inputs: Mapping[str, Any]) -> Certificate:
    """What a prover makes of its inputs. Errors in numbers say what to write instead, where that is clear."""
    try:
        with default_floating_point():
            return _PROVERS[claim](out, **inputs)
    except MalformedError as error:
        hint = error.hint or (number_hint(error.found.strip("'")) if "an exact number" in error.expected else "")
        raise MalformedError(error.place, error.found, error.expected, hint) from None


def doubts_of(claim: str, certificate: Certificate, passed: Mapping[str, Any]) -> Iterator[str]:
    """What a person should know who has made a certificate by these inputs: where it says little."""
    from certattn.provers.doubts import doubts, scale_left_out

    yield from doubts(_COMMANDS[claim].doubts, certificate)
    if "scale" in _parameters(claim) and "scale" not in passed:
        yield from scale_left_out(certificate, default=passed.get("given") is None, said="scale='{}', or scale=1")


def _together(given: Any, fields: Mapping[str, Any]) -> Any:
    """A section and the fields that were passed beside it. Raises UsageError for what is there twice."""
    if not fields:
        return given
    if not isinstance(given, Mapping):
        raise UsageError(f"given is a {type(given).__name__}, expected a mapping of fields as certificates write them")
    for name in fields:
        if name in given:
            raise UsageError(f"{name!r} was passed twice: as a keyword, and in given")
    return {**given, **fields}
