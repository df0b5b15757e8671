"""The command line `cordial`.

`app` lists the commands, which modules called `..._commands` hold: functions that read their input,
call the package, write files and return an `output.Result`. `command` makes a command of such a
function. Options are parameters, or fields of records in `options`, with a line of help each; `app`
reads them from a file that is typed, too. `output` prints results, and turns errors into lines and
a status. What needs JAX is imported once the input is read, so that
help and refusals are quick.
"""

import atexit
import gc
import logging
import os
import signal
import sys


def main() -> None:
    """Run the program with the arguments of the process; Ctrl-C ends it from the first moment."""
    words = "" if {"-q", "--quiet"} & {*sys.argv} else "stopped\n"
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has fewer.
        if number and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: leave(128 + number, words))
    # What the encoding of a terminal lacks, such as "±", is escaped.
    getattr(sys.stdout, "reconfigure", dict)(errors="backslashreplace")
    # Importing and tracing make many objects, and little garbage, which the end need not look for.
    gc.set_threshold(50_000)
    atexit.register(gc.freeze)
    # JAX's own log is silent, unless the environment asks for it.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    logging.getLogger("jax").setLevel(logging.CRITICAL)
    from cordial_ppl.cli.app import run

    try:
        sys.exit(run(sys.argv[1:]))
    except OSError as error:  # Results are written to no file of a name.
        if error.filename is not None:
            raise
        leave(1, f"cordial: cannot write the output: {error.strerror}.\n")


def leave(status: int, words: str) -> None:
    """End the program at once, as a signal asks, with words on stderr; remove unfinished files."""
    # Nothing can be imported while the program may be importing it.
    for module, name in (("progress", "clear"), ("outputs", "discard_unfinished")):
        getattr(sys.modules.get(f"cordial_ppl.runtime.{module}"), name, lambda: None)()
    os.write(2, words.encode())
    os._exit(status)
