"""A task: one certificate to be made and checked, as plain data that goes to another process or machine."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.limits import Limits


@dataclass(frozen=True)
class Task:
    """What `generate` is called with: claim, inputs by name, arrays to draw, and array files with their SHA-256.

    `files` are those that `names` gives to arrays, by the array: path and SHA-256. `position` and `fields` say where in
    the sweep it stands. They are not part of `key`, nor are the paths of files.
    """

    position: int
    fields: dict[str, Any]
    claim: str
    inputs: dict[str, Any]
    arrays: dict[str, Any]
    source: str = ""
    source_sha256: str = ""
    files: dict[str, tuple[str, str]] = field(default_factory=dict)

    @cached_property
    def key(self) -> str:
        """SHA-256 of what decides which certificate comes out."""
        content = {"claim": self.claim, "inputs": self.inputs, "arrays": self.arrays, "source": self.source_sha256}
        if self.files:
            content["files"] = {name: sha256 for name, (_, sha256) in self.files.items()}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Task:
        files = {array: (path, sha256) for array, (path, sha256) in content["files"].items()}
        return cls(**{**content, "files": files})


@dataclass(frozen=True)
class Settings:
    """What holds for every task of a sweep: the limits of generating and of checking, each, and the arithmetic."""

    limits: Limits = field(default_factory=Limits)
    arithmetic: str = "auto"

    @property
    def options(self) -> CheckOptions:
        return CheckOptions(self.limits, arithmetic=self.arithmetic)

    def to_dict(self) -> dict[str, Any]:
        return {"limits": asdict(self.limits), "arithmetic": self.arithmetic}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Settings:
        return cls(Limits(**content["limits"]), content["arithmetic"])
