"""What engines say in their logs about memory, held against what was predicted."""
