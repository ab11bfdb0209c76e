"""Reports for people and for machines; JSON Schemas; what verdicts mean."""
