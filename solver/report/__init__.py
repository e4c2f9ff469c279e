"""Answers made readable: text for a terminal, tables, JSON documents. Nothing here prints."""
