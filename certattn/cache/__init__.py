"""What was verified before by this program: looked up instead of proved again. Not trusted by the kernel, nor part of it."""
