"""Prompts as token ids: from files of ids, or from texts by the model's own tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from certattn.extras import require_extras
from certattn.kernel.errors import UsageError
from certattn.models.heads import Ids, Model
from certattn.provers.array_files import ONLY, open_array_file

TOKENIZER = "tokenizer.json"


@dataclass(frozen=True)
class TokenPrompt:
    """Token ids, where they came from, and how many there were before they were cut."""

    source: str
    ids: Ids
    whole: int


def prompt_of_ids(path: Path, model: Model, most: int | None) -> TokenPrompt:
    """Ids in a `.npy` file, or in a text file of whole numbers. Raises UsageError."""
    if path.suffix in (".npz", ".safetensors"):
        raise UsageError(f"{path}: a {path.suffix} file, expected token ids: a .npy file, or a text of whole numbers")
    ids = _stored_ids(path) if path.suffix == ".npy" else _written_ids(path)
    if len(ids) == 0:
        raise UsageError(f"{path}: no token ids, expected at least one")
    wrong = ids[(ids < 0) | (ids >= model.vocabulary)]
    if len(wrong) > 0:
        raise UsageError(f"{path}: the token id {wrong[0]}, expected 0 to {model.vocabulary - 1}")
    if most is None and len(ids) > model.most_tokens:
        how = f"expected at most {model.most_tokens}; --tokens {model.most_tokens} takes that many from the beginning"
        raise UsageError(f"{path}: {len(ids)} token ids, {how}")
    return TokenPrompt(path.name, ids[: cut(model, most)], len(ids))


def cut(model: Model, most: int | None) -> int:
    """How many tokens are taken. Raises UsageError for more than the model takes."""
    if most is not None and most > model.most_tokens:
        raise UsageError(f"--tokens is {most}, but the model takes {model.most_tokens} tokens")
    return model.most_tokens if most is None else most


def prompt_of_text(path: Path, tokenizer: Path, model: Model, most: int | None) -> TokenPrompt:
    """The text in a file, by a tokenizer in the format of the package tokenizers; cut to what the model takes."""
    require_extras("texts", "audit", otherwise="or give token ids (--ids)")
    from tokenizers import Tokenizer

    if not tokenizer.is_file():
        raise UsageError(f"{tokenizer}: no such file, expected the tokenizer of the model (--tokenizer)")
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({error}), expected a text in UTF-8") from None
    try:
        reader = Tokenizer.from_file(str(tokenizer))
    except Exception as error:  # the package raises plain Exceptions
        raise UsageError(f"{tokenizer}: not a tokenizer file ({error}), expected the model's tokenizer.json") from None
    reader.no_padding()
    reader.no_truncation()
    whole = len(reader.encode(text).ids)
    # Cut by the tokenizer, so that its marks of beginning and end stay.
    reader.enable_truncation(cut(model, most))
    ids = np.array(reader.encode(text).ids, np.int64)
    if len(ids) == 0:
        raise UsageError(f"{path}: a text without tokens, expected at least one")
    if int(ids.max()) >= model.vocabulary:
        raise UsageError(f"{tokenizer}: the token id {ids.max()}, expected 0 to {model.vocabulary - 1} as in the model")
    return TokenPrompt(path.name, ids, whole)


def _stored_ids(path: Path) -> Ids:
    array = open_array_file(path).read(ONLY)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise UsageError(f"{path}: {array.dtype.name} of shape {array.shape}, expected one row of integers")
    return array.astype(np.int64)


def _written_ids(path: Path) -> Ids:
    try:
        return np.array([int(word) for word in path.read_text("ascii").replace(",", " ").split()], np.int64)
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or str(error)).lower()}, expected a file of token ids") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not a file of token ids (no plain text), expected whole numbers") from None
    except OverflowError:
        raise UsageError(f"{path}: not a file of token ids (a number of more than 64 bits)") from None
    except ValueError as error:
        raise UsageError(f"{path}: not a file of token ids ({error}), expected whole numbers") from None
