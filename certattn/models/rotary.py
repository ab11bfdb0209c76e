"""Rotary positions: by what angle each pair of coordinates of a head turns from one token to the next.

Frequencies, angles, cosines and sines are float32 numbers, as transformers has them whatever the floats of the model.
At position 32,767 such an angle is off by up to 0.003 from the exact one: another model, if a close one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certattn.kernel.errors import UsageError
from certattn.models.heads import Floats

Singles = NDArray[np.float32]
# What each kind needs, and what it may have beside that.
_ALWAYS = {"rope_type", "type", "rope_theta", "partial_rotary_factor"}
_NEEDS: Mapping[str, set[str]] = {
    "default": set(),
    "linear": {"factor"},
    "dynamic": {"factor"},
    "yarn": {"factor", "original_max_position_embeddings"},
    "longrope": {"short_factor", "long_factor", "original_max_position_embeddings"},
    "llama3": {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"},
}
_MAY: Mapping[str, set[str]] = {
    # Some configurations note the original length for kinds that do not use it.
    "linear": {"original_max_position_embeddings"},
    "dynamic": {"original_max_position_embeddings"},
    "yarn": {"attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"},
    "longrope": {"factor", "attention_factor"},
}


@dataclass(frozen=True)
class Rotary:
    """A kind of rotary positions with its parameters, for heads of a dimension.

    parameters: as transformers has them after it filled in what older configurations say elsewhere. most: the longest
    prompt that the configuration names.
    """

    parameters: Mapping[str, Any]
    dimension: int
    most: int

    @property
    def kind(self) -> str:
        return str(self.parameters.get("rope_type", self.parameters.get("type", "default")))

    @property
    def turned(self) -> int:
        """How many coordinates of a head turn, the first ones."""
        return int(self.dimension * self._number("partial_rotary_factor"))

    @property
    def reach(self) -> int:
        """The longest prompt that these positions are meant for."""
        return int(self.most * self._number("factor")) if self.kind == "dynamic" else self.most

    def require_known(self) -> None:
        """Raises UsageError for a kind, or for parameters, that are not modelled."""
        if self.kind not in _NEEDS:
            expected = f"expected one of {', '.join(_NEEDS)}"
            raise UsageError(f"config.json: rotary positions of the kind {self.kind!r}, {expected}")
        given = {name for name, value in self.parameters.items() if value is not None}
        if missing := sorted(_NEEDS[self.kind] - given):
            raise UsageError(f"config.json: rotary positions of the kind {self.kind!r} without {missing[0]!r}")
        if others := sorted(given - _ALWAYS - _NEEDS[self.kind] - _MAY.get(self.kind, set())):
            raise UsageError(
                f"config.json: rotary positions of the kind {self.kind!r} with {others[0]!r}, which is not modelled"
            )
        if not 0 < self.turned <= self.dimension or self.turned % 2 != 0:
            raise UsageError(
                f"config.json: {self.turned} of {self.dimension} coordinates of a head turn, "
                "expected an even number of them, 2 at least"
            )

    def turns(self, tokens: int) -> tuple[Singles, Singles]:
        """Cosines and sines, token by pair, times the factor that the kind has for them. Raises UsageError."""
        per_token, factor = _KINDS[self.kind](self, tokens)
        angles = np.arange(tokens, dtype=np.float32)[:, None] * per_token
        return np.cos(angles) * np.float32(factor), np.sin(angles) * np.float32(factor)

    def plain(self, base: float) -> Singles:
        """The frequencies base^(-2 j / d)."""
        return np.float32(1) / self.powers(base)

    def powers(self, base: float) -> Singles:
        """base^(2 j / d): the powers in doubles, once rounded. Single precision is off by a unit for one in seven."""
        exponents = np.arange(0, self.turned, 2, dtype=np.float32) / np.float32(self.turned)
        return np.power(float(base), exponents.astype(np.float64)).astype(np.float32)

    @property
    def base(self) -> float:
        return self._number("rope_theta")

    def _number(self, name: str, default: float = 1.0) -> float:
        found = self.parameters.get(name)
        found = default if found is None else found
        if not isinstance(found, int | float) or isinstance(found, bool) or not 0 < found < math.inf:
            raise UsageError(f"config.json: {name} of rotary positions is {found!r}, expected a number > 0")
        return found

    # -- the kinds

    def _default(self, tokens: int) -> tuple[Singles, float]:
        return self.plain(self.base), 1.0

    def _linear(self, tokens: int) -> tuple[Singles, float]:
        return self.plain(self.base) / np.float32(self._number("factor")), 1.0

    def _dynamic(self, tokens: int) -> tuple[Singles, float]:
        """Another base for prompts that are longer than the model was made for."""
        if tokens <= self.most:
            return self._default(tokens)
        if self.turned <= 2:
            raise UsageError("config.json: dynamic rotary positions of 2 coordinates, expected at least 4")
        factor = self._number("factor")
        # Single precision: transformers has the length as a tensor here.
        stretch = np.float32(factor * tokens) / np.float32(self.most) - np.float32(factor - 1)
        grown = np.float32(self.base) * np.float32(float(stretch) ** (self.turned / (self.turned - 2)))
        return self.plain(float(grown)), 1.0

    def _yarn(self, tokens: int) -> tuple[Singles, float]:
        """Fast pairs as before, slow ones slower by the factor, those between by a mean of both."""
        factor, length = self._number("factor"), self._number("original_max_position_embeddings")
        low, high = (
            self.turned * math.log(length / (self._number(name, default) * 2 * math.pi)) / (2 * math.log(self.base))
            for name, default in (("beta_fast", 32), ("beta_slow", 1))
        )
        truncate = self.parameters.get("truncate", True)
        if not isinstance(truncate, bool):
            raise UsageError(f"config.json: truncate of rotary positions is {truncate!r}, expected true or false")
        if truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, self.turned - 1)
        high += 0.001 * (low == high)
        pairs = np.arange(self.turned // 2, dtype=np.float32)
        kept = 1 - np.clip((pairs - np.float32(low)) / np.float32(high - low), 0, 1)
        powers = self.powers(self.base)
        slow, fast = np.float32(1) / (np.float32(factor) * powers), np.float32(1) / powers
        return (slow * (1 - kept) + fast * kept).astype(np.float32), self._yarn_factor(factor)

    def _yarn_factor(self, factor: float) -> float:
        if self.parameters.get("attention_factor") is not None:
            return self._number("attention_factor")

        def grown(by: float) -> float:
            return 0.1 * by * math.log(factor) + 1 if factor > 1 else 1.0

        above, below = self.parameters.get("mscale"), self.parameters.get("mscale_all_dim")
        return grown(self._number("mscale")) / grown(self._number("mscale_all_dim")) if above and below else grown(1)

    def _longrope(self, tokens: int) -> tuple[Singles, float]:
        """A factor for each pair: one set for prompts up to the original length, another for longer ones."""
        length = self._number("original_max_position_embeddings")
        name = "long_factor" if tokens > length else "short_factor"
        factors = self.parameters[name]
        if not isinstance(factors, list) or len(factors) != self.turned // 2:
            raise UsageError(f"config.json: {name} of rotary positions, expected a list of {self.turned // 2} numbers")
        stretch = self._number("factor", self.most / length)
        attention = math.sqrt(1 + math.log(stretch) / math.log(length)) if stretch > 1 else 1.0
        try:
            each = np.array(factors, np.float32)
        except (TypeError, ValueError):
            raise UsageError(f"config.json: {name} of rotary positions contains something other than numbers") from None
        return np.float32(1) / (each * self.powers(self.base)), self._number("attention_factor", attention)

    def _llama3(self, tokens: int) -> tuple[Singles, float]:
        """Slow pairs turn slower by the factor, fast ones as before, those between by something between."""
        factor, low, high, length = (
            self._number(name)
            for name in ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
        )
        plain = self.plain(self.base)
        waves = np.float32(2 * math.pi) / plain
        found = np.where(waves > length / low, plain / np.float32(factor), plain)
        smooth = (np.float32(length) / waves - np.float32(low)) / np.float32(high - low)
        middle = (1 - smooth) * found / np.float32(factor) + smooth * found
        between = (waves >= length / high) & (waves <= length / low)
        return np.where(between, middle, found).astype(np.float32), 1.0


_KINDS: Mapping[str, Callable[[Rotary, int], tuple[Singles, float]]] = {
    "default": Rotary._default,
    "linear": Rotary._linear,
    "dynamic": Rotary._dynamic,
    "yarn": Rotary._yarn,
    "longrope": Rotary._longrope,
    "llama3": Rotary._llama3,
}


def rotated(heads: Floats, cosines: Singles, sines: Singles) -> Floats:
    """Coordinates j and j + half turned by the angle [t, j], and the rest as they are; heads x tokens x d."""
    half = cosines.shape[1]
    left, right, rest = heads[:, :, :half], heads[:, :, half : 2 * half], heads[:, :, 2 * half :]
    cosine, sine = cosines.astype(heads.dtype), sines.astype(heads.dtype)
    return np.concatenate([left * cosine - right * sine, right * cosine + left * sine, rest], axis=2)
