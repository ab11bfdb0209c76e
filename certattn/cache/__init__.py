"""What this program has verified before, looked up instead of proved again. No part of the kernel."""
