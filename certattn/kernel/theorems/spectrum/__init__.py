"""Random score matrices, the law of their singular values, and the spectra of concrete attention matrices."""
