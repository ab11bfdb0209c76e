"""Keywords of `certattn.generate` on their way to a prover: fields of `given` among them, and misspelt ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

from certattn.input_fields import fields_of
from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.errors import MalformedError, UsageError
from certattn.provers.exact_inputs import did_you_mean, number_hint


def unknown(word: str, what: str, known: Collection[str]) -> UsageError:
    """The error that a word is not known, with the one that may be meant, or all that there are."""
    return UsageError(f"no {what} {word!r}{did_you_mean(word, known) or '; expected ' + ', '.join(known)}")


def inputs_of(claim: str, prover: Callable[..., Any], passed: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a prover; fields of the certificate's `given` that were passed as keywords stand in its `given`.

    A name that is also an input is that. Raises UsageError for unknown names, and for missing ones.
    """
    parameters = {name: of for name, of in inspect.signature(prover).parameters.items() if name != "out"}
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
    return inputs


def hint_for(error: MalformedError) -> str:
    """What to write for a number as other programs would read it; "" where that is not clear."""
    return number_hint(error.found.strip("'")) if "an exact number" in error.expected else ""


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
