"""`proposition-3-4` in words."""

from __future__ import annotations

from certattn.statements.prompts.propositions import wording

WORDING = wording("Proposition 3.4")
