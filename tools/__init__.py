"""Scripts for development, and what they share. They find each other from the top of the repository."""
