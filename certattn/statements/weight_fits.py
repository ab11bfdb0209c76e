"""What a proof by fits of the softmax weights' moments rests on, in words."""

from __future__ import annotations

FIT_SENTENCES = {
    "rate": "the rate d of the fits, whose terms are e^((theta - k d) v)",
    "growth": "theta, with which the fits grow and the misses of the fits are weighted",
    "nodes.first": "the first variance of the nodes",
    "nodes.increase": "the smallest increase from one variance of the nodes to the next",
}
