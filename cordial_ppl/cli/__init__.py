"""The command line `cordial`.

`app` gathers the commands, one module each. `options` declares their options, `messages` writes to
stderr and `output` to stdout. A command imports what needs JAX when it runs, so that
`cordial --help` is quick.
"""

from cordial_ppl.cli.app import main as main
