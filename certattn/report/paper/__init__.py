"""A statement for a paper: an environment of LaTeX, the style that defines it, and what it cites."""
