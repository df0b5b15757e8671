"""JAX for a program that runs for seconds: compiled programs are kept, and its logs are silent.

Only the command line does this. A library must leave JAX's settings to the user.
"""

import logging
import os
import sys
from pathlib import Path


def silence() -> None:
    """Keep JAX's own log messages from the user, unless the environment asks for them."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    logging.getLogger("jax").setLevel(logging.CRITICAL)


def keep_compiled() -> None:
    """Turn the persistent compilation cache on, in the user's cache directory.

    A directory that the user has set (`JAX_COMPILATION_CACHE_DIR`) is left as it is.
    """
    import jax

    if jax.config.jax_compilation_cache_dir is None:
        directory = cache_directory()
        if directory is None:
            return
        jax.config.update("jax_compilation_cache_dir", str(directory))
    # Everything is kept: the programs are small and many.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)


def cache_directory() -> Path | None:
    """Find the folder for compiled programs, by the customs of the system.

    Returns:
        `$XDG_CACHE_HOME/cordial`, or below the home folder `Library/Caches/cordial` (macOS),
        `AppData/Local/cordial/Cache` (Windows) or `.cache/cordial`; None without a home folder.
    """
    custom = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(custom):
        return Path(custom, "cordial")
    try:
        home = Path.home()
    except RuntimeError:
        return None
    places = {"darwin": "Library/Caches/cordial", "win32": "AppData/Local/cordial/Cache"}
    return home / places.get(sys.platform, ".cache/cordial")
