"""What statements of several chapters are about: prompts, queries, weights, laws and ranges, as they are stated.

Fields of certificates, and what they mean in exact numbers. It imports `document`, `mathematics`, `decide.obligation`
and, for prompts in array files, `certattn.fast`; no theorem. It decides nothing.
"""
