"""What the heads of a model provably do on given prompts: certificates for each head, and a summary of them.

Nothing here is trusted: `certattn check` decides about the certificates.
"""
