"""Reports as JSON, whole: `certattn schema --of reports` prints their schema."""

from __future__ import annotations

import json
from collections.abc import Sequence

from certattn._version import __version__
from certattn.statements.reports import Report, exit_status


def as_json(reports: Sequence[Report]) -> str:
    """One object: the tool and its version, the exit status, a report for each certificate."""
    content = {
        "certattn": __version__,
        "exit_status": exit_status(reports),
        "reports": [report.to_dict() for report in reports],
    }
    # ASCII, with escapes: it is the same for every locale, and holds file names that are no text.
    return json.dumps(content, indent=2)
