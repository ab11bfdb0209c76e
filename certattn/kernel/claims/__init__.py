"""One module per claim: what it states, and the obligations that prove it."""
