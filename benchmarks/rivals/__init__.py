"""The same problem given to others: an assignment MILP for HiGHS and a plain interval model for CP-SAT.

Both get what a competent person would write down first, the same limits of time and as many workers; neither gets a
start, a bound or anything else from this project's searches. What they answer is audited by `solver.rules`, and its
value recomputed by the registry of objectives, as for any other answer.
"""
