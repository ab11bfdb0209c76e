"""From files to exact numbers: strict YAML, a number grammar, hashed tensor files."""
