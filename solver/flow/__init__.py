"""The specification of replicated stages and parallel chains: their rules, and the tokens that flow through them."""
