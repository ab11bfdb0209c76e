"""Certificate in, report out.

The one table of claims, and the loop that raises the working precision until every obligation is
decided or the limit is reached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from certattn.kernel.arithmetic.balls import working_precision
from certattn.kernel.claims import infinite_prompt_operator, output_deviation, softmax_mean
from certattn.kernel.claims.claim import AnyClaim
from certattn.kernel.document.certificate import CLAIM, Certificate, load
from certattn.kernel.errors import MalformedError
from certattn.kernel.limits import DEFAULT_LIMITS, Limits
from certattn.kernel.verdict import Obligation, Outcome, Part, Report, Verdict, verdict_of

CLAIMS: Mapping[str, AnyClaim] = {
    "infinite-prompt-operator": infinite_prompt_operator.CLAIM,
    "output-deviation": output_deviation.CLAIM,
    "softmax-mean": softmax_mean.CLAIM,
}

_PARTIAL = "only {} of {} obligations were asked for (--only); these are proved, and nothing is said of the whole"


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How to check. `root`: folder that array files may lie in (the certificate's own by default).

    `only`: check just the obligations matching this name or pattern; such a check never verifies.
    `detail`: keep every obligation in the report.
    """

    limits: Limits = DEFAULT_LIMITS
    root: Path | None = None
    only: str | None = None
    detail: bool = False


def claim_of(certificate: Certificate) -> AnyClaim:
    """The claim that a certificate names. Raises MalformedError for an unknown one."""
    if certificate.claim not in CLAIMS:
        raise certificate.values.node(CLAIM).malformed(f"one of the claims {', '.join(CLAIMS)}")
    return CLAIMS[certificate.claim]


def check_file(path: Path, options: CheckOptions) -> Report:
    """Read and check one certificate file. Bad input gives a `malformed` report, not an exception."""
    try:
        certificate = load(path, root=options.root, limits=options.limits)
        return check_certificate(certificate, options)
    except MalformedError as error:
        return malformed_report(str(path), error)


def malformed_report(path: str, error: MalformedError) -> Report:
    place = (error.place.file, error.place.line, error.place.path)
    return Report(path, Verdict.MALFORMED, reason=str(error), place=place)


def check_certificate(certificate: Certificate, options: CheckOptions) -> Report:
    """Check a certificate that was read. Raises MalformedError where its content is not one."""
    claim = claim_of(certificate)
    stopwatch = certificate.stopwatch
    problem = claim.read(certificate)
    names = claim.names(problem)
    wanted = _select(names, options.only)
    with stopwatch.measure("arithmetic"):
        before = stopwatch.nanoseconds.copy()
        start = claim.first_bits(certificate) or options.limits.start_bits
        found, bits, strays = _decide_all(
            lambda n, b: claim.prove(problem, n, b), wanted, start, options.limits.max_bits
        )
    # Arrays are loaded when first used: that time is reading and marshalling, not arithmetic.
    for phase in ("reading", "marshalling"):
        stopwatch.nanoseconds["arithmetic"] -= stopwatch.nanoseconds.get(phase, 0) - before.get(phase, 0)
    obligations = [found[name] for name in wanted if name in found]
    verdict = verdict_of(names, obligations)
    reason = _reason(verdict, names, wanted, obligations, options.limits.max_bits)
    if strays:
        verdict, reason = Verdict.ERROR, f"a bug in certattn: obligations nobody asked for, or twice: {strays[:5]}"
    elif options.only is not None and verdict is Verdict.VERIFIED:
        verdict, reason = Verdict.INCONCLUSIVE, _PARTIAL.format(len(wanted), len(names))
    counts = {o.value: sum(x.outcome is o for x in obligations) for o in Outcome}
    statement = claim.statement(problem)
    return Report(
        certificate.path,
        verdict,
        claim=claim.name,
        statement=statement.words,
        digest=certificate.digest,
        findings=tuple(claim.findings(problem, obligations)),
        reason=reason,
        arithmetic=claim.arithmetic,
        bits=bits,
        counts=counts,
        obligations=tuple(o.to_dict() for o in obligations) if options.detail else (),
        nanoseconds=stopwatch.nanoseconds,
    )


def _select(names: list[str], only: str | None) -> list[str]:
    if only is None:
        return names
    # Names hold square brackets, which patterns would take for character sets: try the name first.
    return [name for name in names if name == only or fnmatchcase(name, only.replace("[", "[[]"))]


def _decide_all(
    prove: Callable[[list[str], int], list[Obligation]], names: list[str], start: int, max_bits: int
) -> tuple[dict[str, Obligation], int, list[str]]:
    """Every named obligation at the lowest precision that decides it, the precision reached, and strays.

    A stray is an answer that was not asked for or that came twice: a claim that gives one is broken.
    """
    found: dict[str, Obligation] = {}
    pending, bits = names, min(start, max_bits)
    while True:
        with working_precision(bits):
            answers = prove(pending, bits)
        given = [answer.name for answer in answers]
        asked = set(pending)
        strays = [name for name, times in Counter(given).items() if times > 1 or name not in asked]
        if strays:
            return found, bits, strays
        found.update(zip(given, answers, strict=True))
        pending = [name for name in names if name not in found or found[name].outcome is Outcome.UNDECIDED]
        refuted = any(o.part is Part.STATEMENT and o.outcome is Outcome.REFUTED for o in found.values())
        if not pending or refuted or bits >= max_bits:
            return found, bits, []
        bits = min(2 * bits, max_bits)


def _reason(verdict: Verdict, names: list[str], wanted: list[str], obligations: list[Obligation], max_bits: int) -> str:
    """Why the verdict is not `verified`, in a line."""
    if verdict is Verdict.VERIFIED:
        return ""
    false = [o for o in obligations if o.outcome is Outcome.REFUTED]
    if verdict is Verdict.REFUTED:
        false = [o for o in false if o.part is Part.STATEMENT]
    if verdict in (Verdict.REFUTED, Verdict.REJECTED) and false:
        shown = false[0].to_dict()
        line = f"{shown['sentence']}: {shown['left']} {shown['relation']} {shown['right']} is false"
        if false[0].part is Part.WITNESS:
            line = f"not proved: {shown['sentence']}: {shown['left']}"
        return line + (f" (and {len(false) - 1} more)" if len(false) > 1 else "")
    if not wanted:
        few = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        return f"no obligation has the name that was asked for (--only); they are {few}"
    undecided = sum(o.outcome is Outcome.UNDECIDED for o in obligations)
    if undecided:
        number = f"{undecided} obligation{'s' if undecided != 1 else ''}"
        return f"{number} still undecided at the limit of {max_bits} bits (--max-bits)"
    if len(wanted) < len(names):
        return _PARTIAL.format(len(wanted), len(names))
    return "not every obligation was decided"
