"""Exact matrices, balls, softmax sums and the moments of tilted laws."""
