"""What a machine says of its memories and cards, and the cluster file that describes it.

`machine` is how anything is asked (files and commands), `local` the one that asks this computer; `host`, `limits`,
`nvidia`, `amd`, `intel` and `apple` read what comes back, `table` knows what datasheets say of a card, `survey` puts it
together, counting each memory once, and `text` writes it down. Text from files and commands is untrusted: it is
bounded, parsed strictly, and escaped before it is shown. What is absent is left out; only a host without a memory that
can be read is an error.
"""
