"""The theorems, by chapters: what each claim states, and the obligations that prove it.

A chapter imports no other, but for `prompts.typical_prompt`, which is about a concrete prompt beside random ones and
uses `attention`.
"""
