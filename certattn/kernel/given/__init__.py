"""What statements of several chapters are about: prompts, queries, weights and laws, as they are stated."""
