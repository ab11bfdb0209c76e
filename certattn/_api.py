"""The three functions of the public API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from certattn._notebook import register
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.floating_point import default_floating_point
from certattn.kernel.document.certificate import Certificate, load
from certattn.kernel.errors import MalformedError, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS, Limits
from certattn.statements.checking import check_certificate, check_file, malformed_report
from certattn.statements.reports import Report

__all__ = ["check", "generate", "load"]

register()


def check(
    certificate: str | Path | Certificate,
    *,
    root: str | Path | None = None,
    limits: Limits = DEFAULT_LIMITS,
    only: str | None = None,
    detail: bool = False,
    isolated: bool = False,
    strict: bool = False,
    arithmetic: str = "auto",
) -> Report:
    """Check one certificate and say what came out.

    Parameters
    ----------
    certificate : path of a certificate file, or a `Certificate` from `load`.
    root : folder that array files may lie in; by default the certificate's own.
    limits : bounds on what the check may use. The time and memory limits need `isolated`.
    only : check just the obligations of this name (or pattern with `*`); never gives `verified`.
    detail : keep every obligation in `Report.obligations`.
    isolated : run in a new interpreter, so that limits hold, a crash stays there, and nothing that this program
        has loaded or changed is there: what a verdict for others needs. Without it, the check runs among whatever
        else this process does; only the floating-point environment of the thread is restored, and proved.
    strict : as `isolated`, by Arb alone, and by the second checker besides where it covers the claim.
    arithmetic : "binary64" (with proved bounds), "arb", or "auto" for the first that decides.

    Bad input gives a report with the verdict `malformed`; nothing is raised for it.

    >>> from certattn import check
    >>> check("no-such-file.yaml").verdict
    <Verdict.MALFORMED: 'malformed'>
    """
    options = CheckOptions(limits, Path(root) if root is not None else None, only, detail, arithmetic)
    if isinstance(certificate, Certificate):
        if isolated or strict:
            raise UsageError(
                "isolated=True and strict=True need the path of a certificate, not one that is loaded already"
            )
        try:
            return check_certificate(certificate, options)
        except MalformedError as error:
            return malformed_report(certificate.path, error)
    if strict:
        from certattn.strict import check_strictly, strict_options

        return check_strictly(Path(certificate), strict_options(options))
    if isolated:
        from certattn.isolation.fresh import check_in_new_interpreter

        return check_in_new_interpreter(Path(certificate), options)
    return check_file(Path(certificate), options)


def generate(claim: str, out: str | Path, **inputs: Any) -> Certificate:
    """Make a certificate of `claim`, write it to the file `out` and return it.

    The inputs depend on the claim: see `generate` of the module of its name in `certattn.provers`, such as
    `certattn.provers.attention.output_deviation.generate`.
    Raises UsageError for inputs that make no sense, NotProvedError where what is to be stated is not
    true, MalformedError for bad files.

    >>> import numpy as np, tempfile, pathlib
    >>> rng = np.random.default_rng(0)
    >>> keys, values, queries = rng.normal(size=(3, 8, 2)).astype("float32")
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> from certattn import generate, check
    >>> certificate = generate(
    ...     "output-deviation", folder / "prompt.yaml", keys=keys, values=values, queries=queries
    ... )
    >>> check(folder / "prompt.yaml").verdict
    <Verdict.VERIFIED: 'verified'>
    """
    import inspect

    with default_floating_point():
        from certattn.provers import PROVERS

    if claim not in PROVERS:
        raise UsageError(f"no prover for the claim {claim!r}; there is one for {', '.join(PROVERS)}")
    prover = PROVERS[claim]
    try:
        inspect.signature(prover).bind(Path(out), **inputs)
    except TypeError as error:
        known = [name for name in inspect.signature(prover).parameters if name != "out"]
        raise UsageError(f"{claim}: {error}; its inputs are {', '.join(known)}") from None
    with default_floating_point():
        return prover(Path(out), **inputs)
