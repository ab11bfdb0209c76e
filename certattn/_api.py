"""The functions of the public API."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certattn._certificate import Certificate
from certattn._inputs import doubts_of, inputs_of, prove, spelt_out, unknown
from certattn._notebook import register
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.floating_point import default_floating_point
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document import certificate as kernel
from certattn.kernel.errors import MalformedError, NotProvedError, Place, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS, Limits
from certattn.kernel.theorems import CHAPTER_OF
from certattn.provers.commands import DoubtWarning
from certattn.statements.checking import check_certificate, check_file, malformed_report
from certattn.statements.reports import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check", "check_all", "generate", "load", "plot"]

register()


def load(path: str | Path, *, root: str | Path | None = None, limits: Limits = DEFAULT_LIMITS) -> Certificate:
    """Read a certificate, without checking it.

    Parameters
    ----------
    path : path-like
        The file.
    root : path-like, optional
        Folder that array files may lie in; by default the certificate's own.
    limits : Limits
        Bounds on what is read.

    Returns
    -------
    Certificate
        What stands in the file.

    Raises
    ------
    MalformedError
        The file is no certificate; the message names file, line and key path.
    UsageError
        `root` is no folder.

    Examples
    --------
    >>> import certattn
    >>> certificate = certattn.load("certificates/prompts/output-tail/gaussian-length.yaml")
    >>> certificate.claim
    'output-tail'
    """
    return Certificate.of(kernel.load(path, root=root, limits=limits))


def check(
    certificate: str | Path | kernel.Certificate,
    *,
    root: str | Path | None = None,
    limits: Limits = DEFAULT_LIMITS,
    only: str | None = None,
    detail: bool = False,
    isolated: bool = False,
    strict: bool = False,
    arithmetic: str = "auto",
) -> Report:
    """Check a certificate and say what came out. Bad input is a verdict, too; nothing is raised for it.

    Parameters
    ----------
    certificate : path-like or Certificate
        What is checked.
    root : path-like, optional
        Folder that array files may lie in; by default the certificate's own.
    limits : Limits
        Bounds on what the check may use. Those of time and memory need `isolated`.
    only : str, optional
        Check just the obligations of this name, or pattern with ``*``; this never gives `verified`.
    detail : bool
        Keep every obligation in `Report.obligations`.
    isolated : bool
        Run in a new interpreter, so that limits hold, a crash stays there, and nothing is there that this program has
        loaded or changed: what a verdict for others needs. Without it the check runs among whatever else this process
        does; only the floating-point environment of the thread is restored, and proved.
    strict : bool
        As `isolated`, by Arb alone, and by the second checker besides where it covers the claim.
    arithmetic : {"auto", "binary64", "arb"}
        Binary64 with proved bounds, Arb, or the first that decides.

    Returns
    -------
    Report
        The verdict and how it was reached.

    Raises
    ------
    UsageError
        Options that do not go together, or a file that no longer holds the certificate that was loaded from it.

    Examples
    --------
    >>> from certattn import check
    >>> check("certificates/prompts/output-tail/gaussian-length.yaml").verdict
    <Verdict.VERIFIED: 'verified'>
    >>> check("no-such-file.yaml").verdict
    <Verdict.MALFORMED: 'malformed'>
    """
    held = certificate if isinstance(certificate, kernel.Certificate) else None
    options = CheckOptions(limits, Path(root) if root is not None else None, only, detail, arithmetic)
    if held is not None and not (isolated or strict):
        try:
            return check_certificate(held, options)
        except MalformedError as error:
            return malformed_report(held.path, error)
    path = Path(certificate if held is None else held.path)  # type: ignore[arg-type]
    report = _check_file(path, options, isolated=isolated, strict=strict)
    if held is not None and report.digest not in ("", held.digest):
        raise UsageError(f"{path}: holds another statement than when it was loaded; load it again")
    return report


def _check_file(path: Path, options: CheckOptions, *, isolated: bool, strict: bool) -> Report:
    if strict:
        from certattn.strict import check_strictly, strict_options

        return check_strictly(path, strict_options(options))
    if isolated:
        from certattn.isolation.fresh import check_in_new_interpreter

        return check_in_new_interpreter(path, options)
    return check_file(path, options)


def check_all(
    certificates: Iterable[str | Path | kernel.Certificate], *, jobs: int = 1, **options: Any
) -> list[Report]:
    """Check several certificates.

    Parameters
    ----------
    certificates : iterable of path-like or Certificate
        What is checked, such as ``Path("certificates").rglob("*.yaml")``.
    jobs : int
        How many at a time; more than one needs ``isolated=True`` or ``strict=True``.
    **options
        As for `check`.

    Returns
    -------
    list of Report
        In the same order. `exit_status` of it is that of ``certattn check``, and ``pandas.DataFrame`` of it a table.

    Raises
    ------
    UsageError
        As for `check`, and for one path in the place of several.

    Examples
    --------
    >>> from pathlib import Path
    >>> import certattn
    >>> reports = certattn.check_all(sorted(Path("certificates/prompts/proposition-3-1").glob("*.yaml")))
    >>> certattn.exit_status(reports)
    0
    """
    if isinstance(certificates, str | Path | kernel.Certificate):
        raise UsageError("one certificate, expected several, such as Path('certificates').rglob('*.yaml')")
    if jobs == 1:
        return [check(each, **options) for each in certificates]
    if not (options.get("isolated") or options.get("strict")):
        raise UsageError("several checks at a time need isolated=True: within one process they would share its state")
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda each: check(each, **options), certificates))


def generate(claim: str, out: str | Path | None = None, **inputs: Any) -> Certificate:
    """Make a certificate.

    Parameters
    ----------
    claim : str
        What is claimed, such as "output-tail".
    out : path-like, optional
        The file to write, and arrays beside it. Left out, they lie in a temporary folder until the certificate is
        gone; `Certificate.save` keeps them.
    **inputs
        The inputs of the prover (``help(certattn.PROVERS["output-tail"])``), and what the certificate is about: the
        fields of its `given`. Arrays may be those of numpy, or whatever numpy makes arrays of. Within fields, texts may
        be what files for ``certattn generate`` hold: ``covariance="2*I"``, ``mean="data.npz[mean]"``.

    Returns
    -------
    Certificate
        What was written. It is not trusted: `check` proves it.

    Raises
    ------
    UsageError
        Inputs that make no sense.
    MalformedError
        A bad file, or something given that no certificate can be about.
    NotProvedError
        What is to be stated is false, or no proof was found.

    Warns
    -----
    DoubtWarning
        The certificate says little, or probably something else than was meant: no scale is given, a bound says nothing.

    Examples
    --------
    How far is the output of a prompt of 1000 Gaussian tokens from that of an infinite prompt, but for a chance of 1 %?

    >>> import numpy as np, certattn
    >>> law = {"kind": "gaussian", "mean": np.zeros(2), "covariance": np.eye(2)}
    >>> certificate = certattn.generate(
    ...     "output-tail", law=law, tilt=[1, 0], length=1000, norm="l2", probability="0.01"
    ... )
    >>> round(float(certificate.numbers["norm.exceeds"]), 2)
    0.34
    >>> certattn.check(certificate).verdict
    <Verdict.VERIFIED: 'verified'>
    """
    if claim not in CHAPTER_OF:
        raise unknown(claim, "claim", sorted(CHAPTER_OF))
    if out is not None and not isinstance(out, str | Path):
        raise UsageError(f"out is a {type(out).__name__}, expected the name of a file; arrays are passed by keyword")
    passed = inputs_of(claim, inputs)
    folder = Path(tempfile.mkdtemp(prefix="certattn-")) if out is None else None
    place = Path(out) if out is not None else Path(str(folder), f"{claim}.yaml")
    try:
        with spelt_out(claim, passed, place) as read:
            made = Certificate.of(prove(claim, place, read), folder)
    except BaseException as error:
        if folder is None:
            raise
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, MalformedError) and error.place.file.startswith(str(place)):
            # A person has never heard of that file.
            raise MalformedError(Place(claim, 0, error.place.path), error.found, error.expected, error.hint) from None
        raise
    for doubt in doubts_of(claim, made, passed):
        warnings.warn(doubt, DoubtWarning, stacklevel=2)
    return made


def plot(
    certificate: str | Path | kernel.Certificate, out: str | Path | None = None, *, check: bool = False
) -> Figure | Path:
    """Draw what a certificate states.

    Parameters
    ----------
    certificate : path-like or Certificate
        What is drawn.
    out : path-like, optional
        The picture to write: .svg, .png or .pdf.
    check : bool
        Check it first. The picture then says that its bounds are certified; otherwise that nothing was checked.

    Returns
    -------
    matplotlib.figure.Figure or Path
        The figure, or the file that was written.

    Raises
    ------
    UsageError
        There is no such picture, or matplotlib is missing.
    NotProvedError
        It was checked, and is not verified.

    Examples
    --------
    >>> import certattn
    >>> certificate = certattn.load("certificates/spectrum/equivalent-law/gap.yaml")
    >>> figure = certattn.plot(certificate, check=True)
    >>> figure.axes[0].get_xlabel()
    'singular value'
    """
    from certattn.provers.figures import Kept, require_figure
    from certattn.provers.plots import draw

    held = certificate if isinstance(certificate, kernel.Certificate) else load(certificate)
    target = Kept() if out is None else Path(out)
    if isinstance(target, Path):
        require_figure(target)
    if check:
        report = check_certificate(held, CheckOptions())
        if report.verdict is not Verdict.VERIFIED:
            raise NotProvedError(f"{held.path}: {report.verdict.value}, so that nothing is drawn: {report.reason}")
    with default_floating_point():
        draw(held, target, checked=check)
    return target if isinstance(target, Path) else target.figure
