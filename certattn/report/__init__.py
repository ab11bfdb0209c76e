"""Reports for people and machines: text, JSON, JUnit, GitHub annotations, JSON Schema."""
