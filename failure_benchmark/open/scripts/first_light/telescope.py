"""A library that takes long to load."""

import ctypes

ctypes.PyDLL(None).sleep(4)  # nothing else runs in the process while it loads
EXPOSURE = 0.1
