"""The CP-SAT model of a placement (`stages`) and its runs (`run`): the one place that imports OR-Tools."""
