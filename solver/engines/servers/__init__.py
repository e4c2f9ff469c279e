"""What the serving engines have in common: ranks in a pipeline, each a card or a few equal cards of one machine."""
