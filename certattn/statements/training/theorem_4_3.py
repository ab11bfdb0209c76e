"""`theorem-4-3` in words."""

from __future__ import annotations

from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.theorem_4_3 import (
    AT_ZERO,
    CLASS,
    DIMENSION,
    DISTANCE,
    LENGTH,
    LOSS,
    QUERY_DIMENSION,
    QUERY_SIGMA,
    RADIUS,
    RISK,
    SHAPE,
    SIGMA,
    SMOOTHNESS,
    START,
    STEP,
    STEPS,
    TIME,
    TOKEN_LAW,
    U_NORM,
    V_NORM,
    Training,
)
from certattn.statements.given import law_words
from certattn.statements.wording import Statement, Wording

_SENTENCES = {
    "length": "from given.length on the bound falls with the length: what has to be at least 2",
    "step": "given.step times a Lipschitz constant of the gradient of R on the tube <= 1",
    "eta": "eta of the witness < 1",
    "theta": "theta of the witness <= 1",
    "distance": "how far apart the runs may be at the end <= distance",
}


def statement(training: Training) -> Statement:
    given, most = training.stated.given, describe(training.stated.asserts[DISTANCE])
    about, loss, start = given[CLASS], given[LOSS], given[START]
    length = f"{given[LENGTH]:,}"
    if TOKEN_LAW in about:
        dimension = about[TOKEN_LAW].dimension
        laws = (
            f"laws of tokens that are the law of O x for some orthogonal matrix O, x of {law_words(about[TOKEN_LAW])}"
        )
    else:
        dimension, sigma = about[DIMENSION], describe(about[SIGMA])
        laws = (
            f"laws of tokens that are centred and sigma-sub-Gaussian with sigma = {sigma}, "
            "that is E exp(<u, x>) <= exp(sigma^2 |u|^2 / 2) for all u"
        )
    if RADIUS in about:
        queries = f"queries of |z| <= {describe(about[RADIUS])}"
    else:
        said = f"queries in dimension {about[QUERY_DIMENSION]} that are centred and"
        queries = f"{said} {describe(about[QUERY_SIGMA])}-sub-Gaussian"
    shape = {"smooth": "", "convex": "convex ", "quadratic": "quadratic "}[loss[SHAPE]]
    at_start = RISK in loss
    risk = f"R <= {describe(loss[RISK])} at the start" if at_start else f"E l(0) <= {describe(loss[AT_ZERO])}"
    if STEP in given:
        runs, until = "iterates of gradient descent", f"for {given[STEPS]:,} steps of {describe(given[STEP])}"
    else:
        runs, until = "gradient flows", f"up to time {describe(given[TIME])}"
    words = (
        f"Let a task draw a law of tokens in dimension {dimension}, a query z and a {shape}"
        f"loss l >= 0 of outputs, with {laws}, {queries}, gradients of losses that are Lipschitz "
        f"with {describe(loss[SMOOTHNESS])}, and {risk}. R_L(U, V) is the mean of l of attention over L tokens, "
        f"independent given the task, with scores <x, U z> and outputs V x, and R that over infinite prompts. "
        "Then for every such "
        f"task and every start with operator norms |U| <= {describe(start[U_NORM])} and |V| <= "
        f"{describe(start[V_NORM])}, for every L >= {length}, the {runs} of R_L and of R from this start are within "
        f"{most} of each other, in the Frobenius norm of (U, V), {until}."
    )
    ends = rf"0 \le k \le {given[STEPS]}" if STEP in given else rf"0 \le t \le {describe(given[TIME])}"
    name = "k" if STEP in given else "t"
    latex = rf"\lVert \theta_L({name}) - \theta({name}) \rVert_F \le {most} \quad ({ends},\ L \ge {given[LENGTH]})"
    return Statement(words, latex)


def sentence(training: Training, name: str) -> str:
    return _SENTENCES[name]


WORDING = Wording[Training](statement, sentence)
