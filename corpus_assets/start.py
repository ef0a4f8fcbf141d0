"""What a process of ours does before it loads anything heavy; importing this does it. It changes no byte of any output.

Loading makes some hundred thousand objects that stay. Python would look through them again and again for garbage while
it loads, and once more when it ends: half a second of a small build. numpy's BLAS would start threads nobody uses.
"""

import atexit
import gc
import os

gc.set_threshold(50_000, 20, 50)
atexit.register(gc.freeze)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
