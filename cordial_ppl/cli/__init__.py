"""The command line `cordial`.

`app` gathers the commands, one module each: a function that reads its input, calls the package,
writes files and returns an `output.Result`, which is printed. `options` declares the options by
their lines of help and `records` holds those that go together; `declaring` and `command` make a
command of a function, and `messages` turns errors into lines and a status. A command imports what
needs JAX when it runs, so that `cordial --help` is quick.
"""

from cordial_ppl.cli.app import main as main
