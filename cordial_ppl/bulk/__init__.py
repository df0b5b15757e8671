"""Many texts: tables that need not fit in memory, predicted in batches here or on many machines.

`predictor` predicts arrays and batches of a table, `local` a table on this machine and `cluster`
one on Ray.
"""
