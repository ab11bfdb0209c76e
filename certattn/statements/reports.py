"""What a check says of a certificate, and the exit status of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from certattn.kernel.decide.proof import Verdict


@dataclass(frozen=True, slots=True)
class Report:
    """What was checked, what came out, and how.

    `statement` in words, `digest` of the statement, `sha256` of the certificate's file as it was read,
    `findings` lines about the result (the worst query, the slack), `reason` why it is not verified, `place`
    file, line (0: the file as a whole) and key path of what is malformed or not proved, `obligation` the
    name of the first one that is not proved, `arithmetic` the trusted base, `bits` the precision that
    decided, `limit` the resource that ran out ("time", "memory", "processes" or ""), `strict` how a strict
    check was made, `rests_on` how many trusted files and lines of code decided, where they lie and their hash,
    `nanoseconds` by phase, `counts` of obligations by outcome.
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
    obligations: tuple[dict[str, Any], ...] = ()
    strict: tuple[str, ...] = ()
    rests_on: dict[str, Any] = field(default_factory=dict)
    nanoseconds: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; `from_dict` is the inverse."""
        content = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**content, "verdict": self.verdict.value}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Report:
        place = content["place"]
        return cls(
            **{
                **content,
                "verdict": Verdict(content["verdict"]),
                "findings": tuple(content["findings"]),
                "obligations": tuple(content["obligations"]),
                "strict": tuple(content["strict"]),
                "place": tuple(place) if place else None,
            }
        )


def exit_status(reports: Sequence[Report]) -> int:
    """0 only if there is at least one report and all are verified.

    A bug anywhere (70) is louder than a false statement (1), that louder than bad input (2), then
    inconclusive at the precision limit (3) and at the time or memory limit (4).
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
