"""Reads grids, through a library in C that keeps its state for the whole process."""

import ctypes
import time

_opened = []


def read(number):
    _opened.append(number)
    time.sleep(0.2)
    if len(_opened) > 1:
        # The library follows a pointer that another thread has changed meanwhile.
        ctypes.string_at(0)
    _opened.remove(number)
    return [number * cell % 11 for cell in range(8)]
