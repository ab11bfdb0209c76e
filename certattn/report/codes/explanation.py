"""What is said of one code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Explanation:
    """`code`, what it is a code of (`group`), what it says in a line, more by label, and the page with all of it."""

    code: str
    group: str
    says: str
    more: tuple[tuple[str, str], ...]
    page: str

    def to_dict(self) -> dict[str, str]:
        """For JSON."""
        more = {label.replace(" ", "_"): text for label, text in self.more}
        return {"code": self.code, "group": self.group, "says": self.says, **more, "page": self.page}
