"""What a check says of a certificate, and the exit status of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from certattn.kernel.decide.proof import Verdict
from certattn.statements.enclosures import Enclosure, number


class Obligation(dict[str, Any]):
    """One comparison of a proof: a dict of texts, for JSON and tables, whose sides are also there as numbers.

    The keys are ``name``, ``sentence`` (what is compared), ``left``, ``relation``, ``right``, ``outcome`` ("proved",
    "refuted", "undecided" or "unproved"), ``bits``, ``arithmetic`` and ``part`` ("statement" or "witness").
    """

    @property
    def left(self) -> Fraction | Enclosure | None:
        """The left side; None where it is no number."""
        return number(self["left"])

    @property
    def right(self) -> Fraction | Enclosure | None:
        """The right side; None where it is no number."""
        return number(self["right"])

    def __repr__(self) -> str:
        compared = f"{self['left']} {self['relation']} {self['right']}".strip()
        return f"<Obligation {self['name']} {self['outcome']}: {self['sentence']}: {compared}>"


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What a check says of a certificate. A list of reports is a table: ``pandas.DataFrame(reports)``.

    Attributes
    ----------
    path : str
        The certificate.
    verdict : Verdict
        What came out.
    claim, statement : str
        The claim's name, and what is stated, in words.
    digest, sha256 : str
        Hashes of the statement, and of the certificate's file as it was read.
    findings : tuple of str
        Lines about the result: the worst query, the slack.
    reason : str
        Why it is not verified.
    place : tuple of (str, int, str), optional
        File, line (0 for the file as a whole) and key path of what is malformed or not proved.
    obligation : str
        The name of the first obligation that is not proved.
    arithmetic : str
        What the enclosures rest on.
    bits : int
        The precision that decided.
    limit : str
        The resource that ran out: "time", "memory", "processes" or "".
    counts : dict of str to int
        Obligations by outcome.
    obligations : tuple of Obligation
        Every one of them, with ``detail=True``.
    strict : tuple of str
        How a strict check was made.
    rests_on : dict
        How many trusted files and lines of code decided, where they lie, and their hash.
    nanoseconds : dict of str to int
        Time by phase.
    """

    path: str
    verdict: Verdict
    claim: str = ""
    statement: str = ""
    digest: str = ""
    sha256: str = ""
    findings: tuple[str, ...] = ()
    reason: str = ""
    place: tuple[str, int, str] | None = None
    obligation: str = ""
    arithmetic: str = ""
    bits: int = 0
    limit: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    obligations: tuple[Obligation, ...] = ()
    strict: tuple[str, ...] = ()
    rests_on: dict[str, Any] = field(default_factory=dict)
    nanoseconds: dict[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        counted = ", ".join(f"{count} {outcome}" for outcome, count in self.counts.items() if count)
        about = "; ".join(filter(None, (" ".join(self.reason.split()), counted)))
        return f"<Report {self.verdict.value} {self.claim or 'no claim'} {self.path!r}: {about}>"

    def __str__(self) -> str:
        return "\n".join(
            filter(None, (f"{self.verdict.value}  {self.path}", self.statement, self.reason, *self.findings))
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; `from_dict` is the inverse."""
        content = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**content, "verdict": self.verdict.value}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Report:
        """Return the report that `to_dict` was called on."""
        place = content["place"]
        return cls(
            **{
                **content,
                "verdict": Verdict(content["verdict"]),
                "findings": tuple(content["findings"]),
                "obligations": tuple(map(Obligation, content["obligations"])),
                "strict": tuple(content["strict"]),
                "place": tuple(place) if place else None,
            }
        )


def exit_status(reports: Sequence[Report]) -> int:
    """Return the exit status of ``certattn check``: 0 only if there is at least one report and all are verified.

    A bug anywhere (70) is louder than a false statement (1), that louder than bad input (2), then
    inconclusive at the precision limit (3) and at the time or memory limit (4).

    Parameters
    ----------
    reports : sequence of Report
        What the checks said.

    Returns
    -------
    int
        The status.
    """
    if len(reports) > 0 and all(report.verdict is Verdict.VERIFIED for report in reports):
        return 0
    verdicts = {report.verdict for report in reports}
    if Verdict.ERROR in verdicts:
        return 70
    if Verdict.REFUTED in verdicts or Verdict.REJECTED in verdicts:
        return 1
    if Verdict.MALFORMED in verdicts or not reports:
        return 2
    return 3 if any(r.verdict is Verdict.INCONCLUSIVE and not r.limit for r in reports) else 4
