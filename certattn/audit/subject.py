"""What is audited: a model with its prompts, or heads that were recorded, as layers of queries, keys and values."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from certattn.kernel.errors import UsageError
from certattn.models.heads import LayerHeads, Model, Shape
from certattn.models.layouts import model_of
from certattn.models.recorded import open_recorded
from certattn.models.tokens import TOKENIZER, TokenPrompt, prompt_of_ids, prompt_of_text
from certattn.models.weights import PRECISIONS, open_weights


@dataclass(frozen=True)
class Options:
    """Files of ids and texts, a tokenizer, the most tokens, the floats of the run; of recorded heads mask and scale."""

    ids: Sequence[Path] = ()
    texts: Sequence[Path] = ()
    tokenizer: Path | None = None
    tokens: int | None = None
    dtype: str = PRECISIONS[0]
    causal: bool = False
    scale: str | None = None


@dataclass(frozen=True)
class Subject:
    """`model` and `prompts` as the summary describes them; `run` gives the first layers on a prompt by its index."""

    shape: Shape
    model: dict[str, Any]
    prompts: Sequence[dict[str, Any]]
    run: Callable[[int, int], Iterator[LayerHeads]]


def open_subject(path: Path, options: Options) -> Subject:
    """The model in a folder or `.safetensors` file, or recorded heads in a `.npz` file. Raises UsageError."""
    return _recorded(path, options) if path.suffix == ".npz" else _model(path, options)


def _model(path: Path, options: Options) -> Subject:
    if options.causal or options.scale is not None:
        raise UsageError("--causal and --scale are for recorded heads; a model has its own mask and scale")
    weights = open_weights(path, options.dtype)
    model = model_of(weights)
    prompts = _prompts(path, model, options)
    files = {
        file.path.name: _sha256(file.path) for file in {file.path: file for file in weights.tensors.values()}.values()
    }
    described = {**_described(path, model.shape, files), "dtype": options.dtype}

    def run(index: int, layers: int) -> Iterator[LayerHeads]:
        return model.heads(prompts[index].ids, layers)

    return Subject(model.shape, described, [_summary(prompt) for prompt in prompts], run)


def _prompts(path: Path, model: Model, options: Options) -> list[TokenPrompt]:
    """In the order of the options: ids first."""
    if not options.ids and not options.texts:
        raise UsageError("no prompt; expected token ids (--ids FILE) or a text (--text FILE)")
    folder = path if path.is_dir() else path.parent
    tokenizer = options.tokenizer or folder / TOKENIZER
    found = [prompt_of_ids(file, model, options.tokens) for file in options.ids]
    return found + [prompt_of_text(file, tokenizer, model, options.tokens) for file in options.texts]


def _recorded(path: Path, options: Options) -> Subject:
    if options.ids or options.texts or options.tokenizer is not None or options.tokens is not None:
        raise UsageError(
            "--ids, --text, --tokenizer and --tokens are for models; recorded heads come with their own tokens"
        )
    file = open_recorded(path)
    shape = file.shape(options.scale, causal=options.causal)
    tokens = file.file.headers[f"layer{file.layers[0]}.keys"].shape[1]

    def run(index: int, layers: int) -> Iterator[LayerHeads]:
        return (heads for heads in file.each() if heads.layer < layers)

    described = {**_described(path, shape, {path.name: _sha256(path)}), "layers": len(file.layers)}
    return Subject(shape, described, [{"source": path.name, "tokens": tokens, "whole": tokens}], run)


def _described(path: Path, shape: Shape, files: dict[str, str]) -> dict[str, Any]:
    return {
        "source": path.resolve().name,
        "family": shape.family,
        "layers": shape.layers,
        "heads": shape.heads,
        "scale": shape.scale,
        "causal": shape.causal,
        "cap": shape.cap,
        "sha256": files,
    }


def _summary(prompt: TokenPrompt) -> dict[str, Any]:
    digest = hashlib.sha256(prompt.ids.astype("<i8").tobytes()).hexdigest()
    return {"source": prompt.source, "tokens": len(prompt.ids), "whole": prompt.whole, "ids_sha256": digest}


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
