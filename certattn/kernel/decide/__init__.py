"""What decides: obligations, when they may be asked, outcomes, the verdict. Nothing else in certattn does."""
