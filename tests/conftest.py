"""Makes `import l2s_plugin` mean the package, and not the folder of tests of that name beside this file.

pytest puts this folder first on the path. Kernels are compiled without a word: which test would hear it depends on the
cache and on the order of tests.

Programs that tests start and interrupt must hear Ctrl-C, also where the tests run with SIGINT ignored, as after `nohup`
or in the background of a script: what is ignored here would be ignored there.

Random examples are the same in every run, so that a red run can be had again; `--hypothesis-profile default` draws new
ones.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent.parent))

from l2s_plugin import kernels

kernels.quiet = True
settings.register_profile("same", derandomize=True)
settings.load_profile("same")
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Contents of files do not name tests: some hold the time at which they were made, and workers would disagree."""
    return argname if isinstance(val, bytes) or (isinstance(val, str) and len(val) > 80) else None
