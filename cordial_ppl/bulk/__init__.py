"""Many texts: tables that need not fit the memory, predicted in batches here or on many machines.

`texts` predicts arrays, `predictor` a batch of an Arrow table, `local` a table on this machine and
`cluster` one on Ray.
"""
