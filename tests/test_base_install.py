"""What `pip install certattn` alone can do: everything but derivations and figures.

The tests' own environment has every extra. Here a program of its own refuses to import what the base install
does not bring.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import certattn
from certattn.extras import EXTRAS
from certattn.kernel.decide.checker import CLAIMS
from certattn.provers import PROVERS

ROOT = Path(__file__).resolve().parent.parent
# The modules that each dependency of the base install brings.
MODULES = {"click": ["click"], "PyYAML": ["yaml", "_yaml"], "numpy": ["numpy"], "python-flint": ["flint"]}
PROGRAM = """\
import sys
allowed = set(sys.argv[1].split()) | {"certattn"} | set(sys.stdlib_module_names)

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in allowed:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
IMPORTS = """\
import importlib, pkgutil, certattn
for module in pkgutil.walk_packages(certattn.__path__, "certattn."):
    # Derivations are the extra `theory`; __main__ runs the program.
    if not module.name.startswith("certattn.theory") and module.name != "certattn.__main__":
        importlib.import_module(module.name)
        print(module.name)
"""
RUN = """\
from certattn.cli.main import run
for line in sys.argv[2:]:
    print("status", run(line.split()), "of", line)
"""
SIGNS = "law: {kind: rademacher, sizes: [1, 1/2]}\nquery: [1, 1/2]\n"
NORMAL = "law: {kind: gaussian, mean: [0], covariance: [[1/4]]}\n"
QUERIES = "queries: {kind: gaussian, mean: [0], covariance: [[1]]}\n"
FILES = {
    "square.yaml": "matrix: [[3, 0], [4, 5]]\n",
    "ball.yaml": "covariance: [[1]]\nball: {A_squared: 1/4, b_squared: 1}\n",
    "gap.yaml": "covariance: [[1/2]]\nlength: 4\nparameters: {A: [[1/2]], b: 1/2}\n",
    "law.yaml": SIGNS,
    "prompt.yaml": f"{SIGNS}length: 400\n",
    "normal.yaml": f"{NORMAL}query: [1]\n",
    "token.yaml": f"{NORMAL}{QUERIES}K: [[0]]\nlength: 1\n",
    "alone.yaml": NORMAL,
    "scored.yaml": "keys: [[[-0.1, 1], [1, 0], [0, 0]]]\nscores: [1, 0.9, 0.9]\n",
    "lossy.yaml": "keys: [[[-0.1, 1], [1, 0], [0, 0]]]\nscores: [1, 0.9, 0.9]\nloss: logistic\n",
    "descent.yaml": "keys: [[[-3, 1], [0, 0]], [[1, 0], [0, 0]]]\nscores: [[1, 0], [1, 0]]\nloss: linear\n"
    "descent: {rule: gradient, step: 1/60}\nstart: [3, 0]\n",
    "starts.yaml": "keys: [[[1, 0], [-1, 0], [0, 1]]]\nscores: [[1, 1/2, 0]]\nloss: logistic\n"
    "descent: {rule: gradient, step: 4}\nregion: {corner: [4, 0], sides: [[1, 0], [0, 1/2]]}\n",
    "prompts.yaml": "model: regression\ncovariance: [[1]]\nstart: {A: [[1/2]], b: 1/2}\nstep: 1/20\nsteps: 3\n",
    "point.yaml": "covariance: [[1, 1/2], [1/2, 5/4]]\nparameters: {A: [[1/4, 0], [0, 1/4]], b: 1/2}\n",
    "training.yaml": "covariance: [[1, 1/2], [1/2, 5/4]]\nstart: {A: [[3/5, 0], [0, 4/5]], b: 1}\n"
    "training: {rule: flow}\n",
    "task.yaml": "covariance: [[1]]\nstart: {A: [[0]], b: 2}\nlength: 1000\n",
    "scores.yaml": "beta: 1/2\neta: 1\nlambda: 1\nd: 100\n",
    "chosen.yaml": "keys: [[[-0.1, 1], [1, 0], [0, 0]]]\nindices: [0]\n",
    "drawn.yaml": "covariance: [[1]]\nstart: {A: [[1/2]], b: 1/2}\nstep: 1\nsteps: 1\n",
    "near.yaml": "class: {dimension: 1, sigma: 1/4, query_radius: 1}\nstart: {U: 1/4, V: 1/4}\ntime: 1\n"
    "loss: {smoothness: 1, shape: convex, at_zero: 1/8}\n",
    "held-out.yaml": "parameters: {A: [[1]], b: 1}\nlargest: 8\nprobability: 1/4\n",
    "compared.yaml": "matrix: [[1, 2], [3, 4]]\nlaw: {beta: 1, lambda: 1}\n",
    "kernel.yaml": "queries: [[1, 1/2]]\nkeys: [[0, 1], [1, 0]]\nvalues: [[1], [2]]\noutput: [[1.622]]\nscale: 1\n",
    "cached.yaml": "queries: [[1, 1/2]]\nkeys: [[0, 1], [1, 0], [1, 1]]\nvalues: [[1], [2], [3]]\nscale: 1\n"
    "cache: {kept: [[0, 2]], values: {codes: [[2], [6]], scale: [[1/2]]}}\n",
    "three.yaml": "tokens: [[[0, 0], [1, 1]], [[0, 0], [1, -1]]]\nlabels: [1, -1]\nindices: [1, 1]\n",
}
COMMANDS = {
    "attention-error": ["kernel.yaml", "kernel.npz --scale 1/2 --causal top-left --state ulps --lower"],
    "attention-spectrum": ["--beta 1/2 --from 5000", "--beta 1/2 --lambda 1/2 --eta 1 --apart"],
    "binary64-exponential": [""],
    "cache-error": ["cached.yaml --per-query", "head.npz --scale 1/2 --keep 0,1:3 --lower --mass 0 --everywhere"],
    "descent-trajectory": ["prompts.yaml --prompts 2 --length 8", "prompts.yaml --prompts 2 --length 8 --all-tasks"],
    "equivalent-law": ["--beta 1/2 --lambda 1/4 --cdf 1", "--alpha2 7 --beta2 1 --lambda 1/20"],
    "finite-moments": ["--beta 1/2 --d 50 --order 4", "--beta 1/2 --order 4 --within 0.2"],
    "flow-trajectory": ["training.yaml --time 1/2 --radius 1e-9", "training.yaml --within 0.1 --points 2 --tube"],
    "gradient-mean-square": ["prompt.yaml"],
    "gradient-tail": ["prompt.yaml --probability 0.01", "prompt.yaml --exceeds 0.4 --gradient V"],
    "theorem-4-3": ["near.yaml --pieces 2"],
    "held-out-risk": ["held-out.yaml --arrays held-out.npz"],
    "infinite-prompt-operator": ["alone.yaml"],
    "linearization": [
        "tokens.npz --array queries=tokens --array keys=tokens --beta 1 --unit 1/2 --hint float64",
        "tokens.npz --array queries=tokens --array keys=tokens --scale 1/3 --state norm",
    ],
    "normalizer-bound": ["--beta 1/2 --d 200"],
    "not-marchenko-pastur": ["--beta 1/2 --lambda 1 --places 2"],
    "output-deviation": ["head.npz", "head.npz --queries 0:1 --radius 1/8 --cells 3"],
    "output-mean-square": ["prompt.yaml"],
    "output-tail": [
        "law.yaml --direction 1,0 --exceeds 0.4 --probability 0.1",
        "normal.yaml --norm l2 --length 100 --probability 0.1",
    ],
    "proposition-3-1": ["token.yaml"],
    "proposition-3-4": ["token.yaml"],
    "regression-risk": ["point.yaml"],
    "risk-gap": ["ball.yaml --length 60", "gap.yaml --digits 1"],
    "risk-transfer": ["task.yaml --risk 0.3"],
    "selection-on-a-head": ["head.npz", "head.npz --score value-norm --separability selected --exposure 0 --per-query"],
    "singular-values": ["square.yaml", "tokens.npz --array matrix=tokens --hint float64 --above 1"],
    "softmax-mean": ["head.npz --covariance --eigenvalues"],
    "spectral-distance": ["compared.yaml"],
    "stochastic-descent": ["drawn.yaml --risk 0.2 --probability 0.1"],
    "full-batch-descent": ["drawn.yaml --risk 0.2 --probability 0.1"],
    "training-convergence": ["training.yaml", "training.yaml --from auto --risk-at 1"],
    "observed-prompt": ["tokens.npz --radius 100"],
    "typical-prompt": ["tokens.npz --law alone.yaml --probability 0.1"],
    "universality-bound": ["scores.yaml"],
    "joint-max-margin": ["three.yaml"],
    "max-margin": ["chosen.yaml"],
    "regularization-path": ["lossy.yaml"],
    "selection-basins": ["starts.yaml --depth 1 --most-steps 20"],
    "selection-counterexample": ["descent.yaml"],
    "selection-direction": ["descent.yaml"],
    "token-optimality": ["scored.yaml"],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files that commands are given."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    rng = np.random.default_rng(3)
    np.savez(tmp_path / "head.npz", keys=rng.normal(size=(6, 2)), values=rng.normal(size=(6, 3)), queries=np.eye(2))
    heads = {name: rng.normal(size=(2, 3, 2)) for name in ("queries", "keys", "values", "output")}
    np.savez(tmp_path / "kernel.npz", **heads)
    columns = {"tokens": 12, "labels": 12, "queries": 4, "targets": 4}
    np.savez(tmp_path / "held-out.npz", **{name: rng.uniform(-1, 1, size=(n, 1)) for name, n in columns.items()})
    np.savez(tmp_path / "tokens.npz", tokens=rng.normal(size=(50, 1)) / 2, queries=np.ones((1, 1)))
    return tmp_path


def base_install(program: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program where only the base install is to be had."""
    allowed = " ".join(module for modules in MODULES.values() for module in modules)
    command = [sys.executable, "-c", PROGRAM + program, allowed, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)


def test_the_base_install_is_the_declared_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {re.split(r"[<>=~! ]", line)[0] for line in project["dependencies"]} == set(MODULES)


def test_libraries_of_extras_are_really_absent(folder: Path) -> None:
    for name in ("scipy", "sympy", "mpmath", "matplotlib", "pytest"):
        done = base_install(f"import {name}", folder=folder)
        assert f"ModuleNotFoundError: No module named '{name}'" in done.stderr


@pytest.mark.heavy
def test_every_module_but_derivations_can_be_imported(folder: Path) -> None:
    done = base_install(IMPORTS, folder=folder)
    assert done.returncode == 0, done.stderr
    imported = set(done.stdout.split())
    for claim in CLAIMS:
        assert PROVERS[claim].__module__ in imported


def test_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, packages in EXTRAS.items():
        own = [line for line in declared[extra] if not line.startswith("certattn[")]
        assert tuple(re.split("[<>=]", line)[0] for line in own) == packages


def test_a_command_is_tried_for_every_claim() -> None:
    assert set(COMMANDS) == set(CLAIMS)


def commands(folder: Path, *lines: str) -> tuple[dict[str, int], str]:
    """The status of each command line where only the base install is to be had, and what was said on standard error."""
    done = base_install(RUN, *lines, folder=folder)
    assert done.returncode == 0, done.stderr
    statuses = re.findall("^status ([0-9]+) of (.*)$", done.stdout, re.MULTILINE)
    return {line: int(status) for status, line in statuses}, done.stderr


@pytest.mark.heavy
def test_every_prover_runs(folder: Path) -> None:
    runs = [f"generate {claim} {options}" for claim, each in COMMANDS.items() for options in each]
    lines = [f"{run} -o made{k}.yaml" for k, run in enumerate(runs)]
    statuses, said = commands(folder, *lines)
    assert statuses == dict.fromkeys(lines, 0), said
    verdicts = {line: certattn.check(folder / line.split()[-1]).verdict for line in lines}
    assert verdicts == dict.fromkeys(lines, certattn.Verdict.VERIFIED)


def test_what_needs_an_extra_says_which(folder: Path) -> None:
    tail = "generate output-tail law.yaml --direction 1,0 --exceeds 0.4 --probability 0.1 -o tail.yaml --plot tail.svg"
    statuses, said = commands(folder, tail, "derive")
    assert statuses == {tail: 2, "derive": 2}
    assert "figures need matplotlib: pip install matplotlib" in said
    assert "derivations need sympy: pip install sympy" in said
    assert not list(folder.glob("tail*"))
