"""Certificate in, report out.

The loop that goes from fast to sharp arithmetic until every obligation is decided or the limit is
reached: tiers of binary64 where a claim has them, then Arb with a working precision that doubles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path

from certattn.kernel.decide.adapter import AdaptedClaim
from certattn.kernel.decide.claim import AnyClaim
from certattn.kernel.decide.floating_point import default_floating_point
from certattn.kernel.decide.obligation import Part
from certattn.kernel.decide.reports import Report
from certattn.kernel.decide.verdict import DOUBLE, RESULTS, UNPROVED, Obligation, Outcome, Verdict, verdict_of
from certattn.kernel.document.asserted import asserted_at, ignored
from certattn.kernel.document.certificate import CLAIM, Certificate, load, require_folder
from certattn.kernel.errors import Binary64Error, GuardError, MalformedError, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS, Limits
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.meter import Meter
from certattn.kernel.theorems import Claims, module_of


def _claim(name: str) -> AnyClaim:
    """A theorem with its words, whose module is imported by name: nothing that is trusted imports words."""
    module = import_module(module_of("kernel.theorems", name))
    if hasattr(module, "THEOREM"):
        return AdaptedClaim(module.THEOREM, import_module(module_of("statements", name)).WORDING)
    claim: AnyClaim = module.CLAIM
    return claim


CLAIMS: Mapping[str, AnyClaim] = Claims(_claim)

ARITHMETICS = ("auto", "binary64", "arb")

_NAMED = "all {} obligations were asked for by name (--only); they are proved: check without it"
_PARTIAL = "only {} of {} obligations were asked for (--only); these are proved, and nothing is said of the whole"


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How to check. `root`: folder that array files may lie in (the certificate's own by default).

    `only`: check just the obligations matching this name or pattern; such a check never verifies.
    `detail`: keep every obligation in the report. `arithmetic`: one of ARITHMETICS; "auto" tries
    binary64 with proved bounds first and falls back to Arb. `meter`: where to note what was read.
    """

    limits: Limits = DEFAULT_LIMITS
    root: Path | None = None
    only: str | None = None
    detail: bool = False
    arithmetic: str = "auto"
    meter: Meter | None = None

    def __post_init__(self) -> None:
        if self.root is not None:
            require_folder(self.root)
        if self.arithmetic not in ARITHMETICS:
            raise UsageError(f"arithmetic is {self.arithmetic!r}, expected one of {', '.join(ARITHMETICS)}")


def claim_of(certificate: Certificate) -> AnyClaim:
    """The claim that a certificate names. Raises MalformedError for an unknown one."""
    if certificate.claim not in CLAIMS:
        raise certificate.values.node(CLAIM).malformed(f"one of the claims {', '.join(CLAIMS)}")
    return CLAIMS[certificate.claim]


def check_file(path: Path, options: CheckOptions) -> Report:
    """Read and check one certificate file. Bad input gives a `malformed` report, not an exception."""
    try:
        certificate = load(path, root=options.root, limits=options.limits, meter=options.meter)
        return check_certificate(certificate, options)
    except MalformedError as error:
        return malformed_report(str(path), error)


def malformed_report(path: str, error: MalformedError) -> Report:
    place = (error.place.file, error.place.line, error.place.path)
    return Report(path, Verdict.MALFORMED, reason=str(error), place=place)


def check_certificate(certificate: Certificate, options: CheckOptions) -> Report:
    """Check a certificate that was read. Raises MalformedError where its content is not one."""
    try:
        with default_floating_point():
            return _checked(certificate, options)
    except GuardError as error:
        reason = f"{error}, and could not be made to compute as the proofs assume; check it in another process"
        return Report(certificate.path, Verdict.INCONCLUSIVE, claim=certificate.claim, reason=reason)


def _checked(certificate: Certificate, options: CheckOptions) -> Report:
    claim = claim_of(certificate)
    stopwatch = certificate.stopwatch
    problem = claim.read(certificate)
    names = claim.names(problem)
    wanted = _select(names, options.only)
    with stopwatch.measure("arithmetic"):
        before = stopwatch.nanoseconds.copy()
        search = _Search(wanted)
        if options.arithmetic != "arb":
            search.try_binary64(claim.tiers(problem), lambda n, tier: claim.prove_binary64(problem, n, tier))
        if options.arithmetic != "binary64":
            start = claim.first_bits(certificate) or options.limits.start_bits
            search.try_arb(lambda n, b: claim.prove(problem, n, b), start, options.limits.max_bits)
    # Arrays are loaded when first used: that time is reading and marshalling, not arithmetic.
    for phase in ("reading", "marshalling"):
        stopwatch.nanoseconds["arithmetic"] -= stopwatch.nanoseconds.get(phase, 0) - before.get(phase, 0)
    obligations = [search.found[name] for name in wanted if name in search.found]
    verdict = verdict_of(names, obligations)
    reason = _reason(verdict, names, wanted, obligations, options)
    if search.strays:
        verdict = Verdict.ERROR
        reason = f"a bug in certattn: obligations nobody asked for, or twice: {search.strays[:5]}"
    elif verdict is Verdict.VERIFIED and (unread := next(ignored(certificate.asserts, certificate.reading.used), None)):
        verdict, reason = Verdict.ERROR, f"a bug in certattn: the claim has not looked at {unread.path}"
    elif options.only is not None and verdict is Verdict.VERIFIED:
        verdict, reason = Verdict.INCONCLUSIVE, _NAMED.format(len(names))
    counts = {result: sum(o.result == result for o in obligations) for result in RESULTS}
    statement = claim.statement(problem)
    open_one = _open_one(obligations)
    return Report(
        certificate.path,
        verdict,
        claim=claim.name,
        statement=statement.words,
        digest=certificate.digest,
        sha256=certificate.sha256,
        findings=(*claim.findings(problem, obligations), *search.notes),
        reason=reason,
        place=None if verdict is Verdict.VERIFIED else _place(certificate, open_one),
        obligation=open_one,
        arithmetic=_arithmetic(obligations) or claim.arithmetic,
        bits=search.bits,
        counts=counts,
        obligations=tuple(o.to_dict() for o in obligations) if options.detail else (),
        nanoseconds=stopwatch.nanoseconds,
    )


def _select(names: list[str], only: str | None) -> list[str]:
    if only is None:
        return names
    # Names hold square brackets, which patterns would take for character sets: try the name first.
    return [name for name in names if name == only or fnmatchcase(name, only.replace("[", "[[]"))]


@dataclass
class _Search:
    """Every wanted obligation by the fastest arithmetic that decides it.

    `bits` is the precision reached. A stray is an answer that was not asked for or that came twice: a
    claim that gives one is broken. `notes` say why an arithmetic was not used.
    """

    wanted: list[str]
    found: dict[str, Obligation] = field(default_factory=dict)
    bits: int = 0
    strays: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def try_binary64(self, tiers: tuple[str, ...], prove: Callable[[Collection[str], str], list[Obligation]]) -> None:
        for tier in tiers:
            pending = self._pending()
            if not pending:
                return
            try:
                self._take(pending, prove(pending, tier), DOUBLE)
            except Binary64Error as error:
                self.notes.append(f"{tier} arithmetic was not used: {error}")

    def try_arb(self, prove: Callable[[Collection[str], int], list[Obligation]], start: int, max_bits: int) -> None:
        bits = min(start, max_bits)
        while pending := self._pending():
            with working_precision(bits):
                self._take(pending, prove(pending, bits), bits)
            if bits >= max_bits:
                return
            bits = min(2 * bits, max_bits)

    def _pending(self) -> Collection[str]:
        """What is still to be decided, in order and to look names up in: nothing once the statement is refuted."""
        if self.strays or any(o.part is Part.STATEMENT and o.outcome is Outcome.REFUTED for o in self.found.values()):
            return ()
        left = (n for n in self.wanted if n not in self.found or self.found[n].outcome is Outcome.UNDECIDED)
        return dict.fromkeys(left).keys()

    def _take(self, pending: Collection[str], answers: list[Obligation], bits: int) -> None:
        self.bits = bits
        asked = set(pending)
        given = Counter(answer.name for answer in answers)
        self.strays = [name for name, times in given.items() if times > 1 or name not in asked]
        if not self.strays:
            self.found.update((answer.name, answer) for answer in answers)


def _open_one(obligations: list[Obligation]) -> str:
    """The name of the first obligation that is not proved, the loudest outcome first; "" where all are."""
    first = {o.result: o.name for o in reversed(obligations) if o.outcome is not Outcome.PROVED}
    return next((first[result] for result in ("refuted", UNPROVED, "undecided") if result in first), "")


def _place(certificate: Certificate, name: str) -> tuple[str, int, str]:
    """File, line and key path of what the obligation of this name is about, for a message to point to."""
    place = asserted_at(certificate.asserts, name).place
    return place.file, place.line, place.path


def _arithmetic(obligations: list[Obligation]) -> str:
    """What the decisions rest on, with numbers where there is more than one."""
    used = Counter(o.arithmetic for o in obligations if o.arithmetic)
    if len(used) <= 1:
        return "".join(used)
    return " and ".join(f"{name} ({count})" for name, count in used.items())


def _reason(
    verdict: Verdict, names: list[str], wanted: list[str], obligations: list[Obligation], options: CheckOptions
) -> str:
    """Why the verdict is not `verified`, in a line."""
    if verdict is Verdict.VERIFIED:
        return ""
    false = [o for o in obligations if o.outcome is Outcome.REFUTED]
    if verdict is Verdict.REFUTED:
        false = [o for o in false if o.part is Part.STATEMENT]
    if verdict in (Verdict.REFUTED, Verdict.REJECTED) and false:
        shown = false[0].to_dict()
        line = f"{shown['sentence']}: {shown['left']} {shown['relation']} {shown['right']}".strip()
        line = f"not proved: {line}" if false[0].part is Part.WITNESS else f"{line} is false"
        return line + (f" (and {len(false) - 1} more)" if len(false) > 1 else "")
    if not wanted:
        few = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        return f"no obligation has the name that was asked for (--only); they are {few}"
    if options.arithmetic == "binary64" and not obligations:
        return "binary64 has no answer here; --arithmetic auto goes on with Arb"
    undecided = sum(o.outcome is Outcome.UNDECIDED for o in obligations)
    if undecided:
        number = f"{undecided} obligation{'s' if undecided != 1 else ''}"
        if options.arithmetic == "binary64":
            return f"{number} still undecided in binary64; --arithmetic auto goes on with Arb"
        return f"{number} still undecided at the limit of {options.limits.max_bits} bits (--max-bits)"
    if len(wanted) < len(names):
        return _PARTIAL.format(len(wanted), len(names))
    return "not every obligation was decided"
