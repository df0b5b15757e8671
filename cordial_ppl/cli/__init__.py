"""The command line `cordial`: files in, calibrated files and plain words out.

`app` gathers the commands, each in a module of its own; `options` holds what they are told,
`fitting` goes from two tables to a fitted calibrator, `output` writes and shows results, and
`messages` says what went wrong. A command imports what needs JAX when it runs, so that
`cordial --help` is quick.
"""

from cordial_ppl.cli.app import main as main
