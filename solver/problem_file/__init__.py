"""The abstract problem as a JSON document (`layerfit/problem/1`): read, checked and written.

Absent keys are optional by the document's own rule: `active_bytes` is then weight + cache, counts are 1, a node has one
memory of its own, the rest null or 0.
"""

from __future__ import annotations

from solver.problem_file.document import SCHEMA
from solver.problem_file.read import checked, problem_from_bytes, problem_from_document, read_problem
from solver.problem_file.write import problem_to_document

__all__ = ["SCHEMA", "checked", "problem_from_bytes", "problem_from_document", "problem_to_document", "read_problem"]
