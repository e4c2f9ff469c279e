"""llama.cpp: which device every tensor, cache and buffer lands on, to the byte, and what to type for it."""
