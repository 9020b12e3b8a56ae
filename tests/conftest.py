"""Makes `import l2s_plugin` mean the package, and not the folder of tests of that name beside this file.

pytest puts this folder first on the path, and the finder of an editable install comes after the path. Kernels are
compiled without a word: which test would hear it depends on the cache and on the order of tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from l2s_plugin import kernels

kernels.quiet = True
