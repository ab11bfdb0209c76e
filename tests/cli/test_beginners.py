"""What a beginner does wrong, and the essential words of each answer: where, what was found, what to do.

A file `in.yaml` holds the text of a case; `law.yaml` is a good input, `head.npz` holds a small head.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TAIL = "--direction 1,0 --probability 0.01 --length 1000 -o made.yaml"
TILT = "tilt: [1, 0]\n"


def law(covariance: str, mean: str = "[0, 0]", tilt: str = TILT) -> str:
    return f"law: {{kind: gaussian, mean: {mean}, covariance: {covariance}}}\n{tilt}"


LAW = law("[[1, 0], [0, 1]]")
UTF16 = codecs.BOM_UTF16_LE + LAW.encode("utf-16-le")
NPY = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }"

# The text of in.yaml, and the words of the answer of `generate output-tail in.yaml`.
FILES: dict[str, tuple[str | bytes, list[str]]] = {
    "empty": ("", ["in.yaml\n", "an empty file", "a YAML file with the keys tilt, law"]),
    "comments only": ("# to do\n", ["in.yaml\n", "an empty file"]),
    "a list": ("- 1\n- 2\n", ["in.yaml:1", "a mapping whose first key"]),
    "a word": ("hello\n", ["in.yaml:1", "'hello'", "a mapping"]),
    "UTF-16": (UTF16, ["in.yaml\n", "text in UTF-16", "save it as UTF-8"]),
    "Latin-1": (f"# café\n{LAW}".encode("latin-1"), ["in.yaml\n", "bytes that are not UTF-8, on line 1"]),
    "an array": (NPY, ["in.yaml\n", "a .npy file with an array", "keys: data.npz[keys]"]),
    "a program": (b"\x00\x01\x02\xff\xfe" * 20, ["in.yaml\n", "a binary file"]),
    "a tab": ("law:\n\tkind: gaussian\n", ["in.yaml:2", "a tab", "indent with spaces"]),
    "an open quote": ('law: "gaussian\n', ["in.yaml:1: law", "quotes end on the line"]),
    "an open bracket": ("law: {kind: box, sizes: [1, 2\n", ["in.yaml:3: law.sizes", "the end of the file"]),
    "a certificate": ("certattn: 1\nclaim: x\ngiven: {a: 1}\n", ["in.yaml is a whole certificate", "certattn check"]),
    "no law": (TILT, ["in.yaml\n", "no 'law'", "the keys tilt, law"]),
    "a misspelt key": (LAW.replace("cov", "kov"), ["in.yaml:1: law.kovariance", "did you mean covariance?"]),
    "a misspelt law": (LAW.replace("gaussian", "normal"), ["in.yaml:1: law.kind", "'normal'", "'gaussian' or"]),
    "twice": (f"{LAW}{TILT}", ["in.yaml:3", "tilt"]),
    "a number as a word": (law("[[one, 0], [0, 1]]"), ["in.yaml:1: law.covariance[0][0]", "'one'", "decimal such as"]),
    "NaN": (law("[[1, 0], [0, NaN]]"), ["in.yaml:1: law.covariance[1][1]", "'NaN'", "only finite numbers"]),
    "Infinity": (law("I", tilt="tilt: [1, .inf]\n"), ["in.yaml:2: tilt[1]", "'.inf'", "only finite numbers"]),
    "no zero": (law("[[.5, 0], [0, 1]]"), ["law.covariance[0][0]", "'.5'", "write 0.5"]),
    "a plus": (law("I", tilt="tilt: [+1, 0]\n"), ["tilt[0]", "'+1'", "write 1\n"]),
    "a comma": (law("I", tilt="tilt: [1;0]\n"), ["in.yaml:2: tilt[0]", "'1;0'"]),
    "ragged": (law("[[1, 0], [0]]"), ["in.yaml:1: law.covariance[1]", "1 number", "2 numbers, like the first row"]),
    "wrong shape": (law("[[1]]"), ["in.yaml:1: law.covariance", "a 1 x 1 matrix", "2 x 2 for that mean"]),
    "wrong length": (law("I", tilt="tilt: [1]\n"), ["in.yaml:2: tilt", "1 number", "2 numbers"]),
    "not symmetric": (law("[[1, 2], [0, 1]]"), ["in.yaml:1: law.covariance", "not symmetric"]),
    "negative variance": (law("diag(1, -1)"), ["in.yaml:1: law.covariance", "a negative eigenvalue"]),
    "a number for a matrix": (law("1"), ["in.yaml:1: law.covariance", "'1'", "diag(2, 1, 1/2)", "data.npz[K]"]),
    "a number for a vector": (law("I", tilt="tilt: 1\n"), ["in.yaml:2: tilt", "'1'", "data.npz[mean]"]),
    "numpy's identity": (law("eye(2)"), ["in.yaml:1: law.covariance", "'eye(2)'", "diag(2, 1, 1/2)"]),
    "diag of words": (law("diag(1, x)"), ["in.yaml:1: law.covariance", "'x' in 'diag(1, x)'"]),
    "diag of nothing": (law("diag()"), ["in.yaml:1: law.covariance", "diag()"]),
    "a division by zero": (law("1/0*I"), ["in.yaml:1: law.covariance", "a division by zero"]),
    "I of no size": ("law: {kind: rademacher, sizes: 1}\nV: I\n", ["in.yaml:1: law.sizes", "a vector"]),
    "an array without name": (law("head.npz"), ["head.npz, which holds keys", "write head.npz[NAME]"]),
    "an array that is not there": (law("head.npz[cov]"), ["head.npz[cov]; head.npz holds keys, values"]),
    "a file that is not there": (law("none.npy"), ["in.yaml:1: law.covariance", "none.npy: no such file"]),
    "an array of another shape": (law("head.npz[keys]"), ["the array 'keys' (law.covariance)", "6 x 2", "2 x 2"]),
    "a matrix for a vector": (law("I", "head.npz[keys]"), ["law.mean", "the shape (6, 2)", "a vector: one extent"]),
    "an array of NaN": (law("wrong.npz[nan]"), ["wrong.npz", "NaN"]),
    "a percentage": (law("3%*I"), ["in.yaml:1: law.covariance", "diag(2, 1, 1/2), I, 2*I"]),
    "a mean in per cent": (law("I", "[0, 0.5%]"), ["in.yaml:1: law.mean[1]", "'0.5%'", "hint:     write 0.005"]),
    "an array of words": (law("wrong.npz[words]"), ["wrong.npz: the array 'words'", "str", "floats or integers"]),
}
# Arguments, and the words of the answer.
COMMANDS: list[tuple[str, list[str]]] = [
    (f"generate output-tail none.yaml {TAIL}", ["none.yaml", "no such file", "a readable YAML file"]),
    (f"generate output-tail folder {TAIL}", ["folder", "a folder", "a readable YAML file"]),
    (f"generate output-tail head.npz {TAIL}", ["head.npz: ", "the unknown key 'keys'", "only the keys"]),
    (f"generate output-tail law.yaml law.yaml {TAIL}", ["unexpected extra argument (law.yaml)"]),
    ("generate output-tail law.yaml --norm l2", ["Missing option '-o'"]),
    ("generate output-tail", ["Missing argument 'LAW'"]),
    ("generate output-tale law.yaml", ["Did you mean 'output-tail'?"]),
    ("generate output-tail law.yaml --probabilty 1/2", ["Did you mean '--probability'?"]),
    ("chek law.yaml", ["Did you mean 'check'?"]),
    ("generate output-tail law.yaml --length 9 --exceeds 1 -o made.yaml", ["nothing to bound", "--direction, --norm"]),
    (f"generate output-tail law.yaml --probability 2 {TAIL}".replace("--probability 0.01 ", ""),
     ["probability is 2", "above 0 and below 1"]),
    (f"generate output-tail law.yaml {TAIL}".replace("0.01", "1%%"), ["probability: '1%%'", "an exact number"]),
    (f"generate output-tail law.yaml {TAIL}".replace("0.01", "200%"), ["probability is 2", "above 0 and below 1"]),
    ("check none.zip", ["none.zip: no such file", "`certattn bundle`"]),
    ("check none.zip --locked", ["none.zip: no such file", "`certattn bundle`"]),
    (f"generate output-tail law.yaml {TAIL}".replace("1000", "0"), ["length is 0", "a whole number from 1"]),
    (f"generate output-tail law.yaml {TAIL}".replace("made", "law"), ["law.yaml is an input", "another name for -o"]),
    (f"generate output-tail law.yaml {TAIL}".replace("made", "no/made"), ["no: no such folder"]),
    (f"generate output-tail law.yaml {TAIL}".replace("made.yaml", "folder"), ["'folder' is a directory"]),
    (f"generate output-tail law.yaml {TAIL}".replace("made.yaml", "a.npz"), ["a certificate is a YAML file"]),
    ("generate softmax-mean folder -o made.yaml", ["folder: a folder", ".npz, .safetensors or .npy"]),
    ("generate softmax-mean head -o made.yaml", ["head: no such file"]),
    ("generate softmax-mean head.npz --array keys=k -o made.yaml", ["no array 'k'", "it holds keys, values"]),
    ("generate softmax-mean head.npz --array keys=head.npz -o made.yaml", ["as in head.npz[NAME]"]),
    ("generate softmax-mean head.npz --array keys=head.npz[k] -o made.yaml", ["head.npz: no array 'k'"]),
    ("generate softmax-mean head.npz --array keys -o made.yaml", ["--array 'keys'", "keys=head.npz[k]"]),
    ("generate softmax-mean head.npz --scale 1/sqrt2 -o made.yaml", ["--scale 1/sqrt2", "1/sqrt(p/q)"]),
    ("generate softmax-mean head.npz --queries 0-2 -o made.yaml", ["--queries 0-2", "such as 0:64"]),
    ("generate softmax-mean head.npz --queries 0:99 -o made.yaml", ["--queries 0:99", "rows among the 4"]),
    ("check", ["nothing to check"]),
    ("check none.yaml", ["none.yaml", "no such file"]),
    ("check folder", ["folder: no certificates"]),
    ("check law.yaml", ["the unknown key 'law'", "an input of `certattn generate` (output-tail", "not a certificate"]),
    ("check head.npz", ["this is a .npz file", "a certificate is a YAML file"]),
    ("check array.npy", ["this is a .npy file"]),
    ("check utf16.yaml", ["this is text in UTF-16"]),
]  # fmt: skip


@pytest.fixture(autouse=True)
def files(folder: Path, head: Path) -> None:
    (folder / "folder").mkdir()
    (folder / "law.yaml").write_text(LAW)
    (folder / "array.npy").write_bytes(NPY)
    (folder / "utf16.yaml").write_bytes(UTF16)
    np.savez(folder / "wrong.npz", nan=np.array([[np.nan, 0], [0, 1]]), words=np.array([["a", "b"], ["c", "d"]]))


def answered(done: Any, words: list[str], folder: Path) -> None:
    said = done.out + done.err
    assert done.status == 2, said
    for each in words:
        assert each in said, said
    assert "Traceback" not in said
    assert "a bug in certattn" not in said
    assert not list(folder.glob("made*"))


@pytest.mark.parametrize("case", FILES)
def test_a_wrong_file_is_answered(folder: Path, certattn_run: Callable[..., Any], case: str) -> None:
    content, words = FILES[case]
    (folder / "in.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())
    answered(certattn_run("generate", "output-tail", "in.yaml", *TAIL.split()), words, folder)


@pytest.mark.parametrize(("line", "words"), COMMANDS, ids=[line for line, _ in COMMANDS])
def test_a_wrong_command_is_answered(
    folder: Path, certattn_run: Callable[..., Any], line: str, words: list[str]
) -> None:
    answered(certattn_run(*line.split()), words, folder)


@pytest.mark.parametrize(
    "content", [codecs.BOM_UTF8 + LAW.encode(), LAW.replace("\n", "\r\n").encode()], ids=["a BOM", "Windows"]
)
def test_what_an_editor_adds_is_read(folder: Path, certattn_run: Callable[..., Any], content: bytes) -> None:
    (folder / "in.yaml").write_bytes(content)
    assert certattn_run("generate", "output-tail", "in.yaml", *TAIL.split()).status == 0
