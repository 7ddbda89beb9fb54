"""Scans of invoices: conversion in processes, and an index that a thread keeps fresh."""

import multiprocessing
import threading
import time

_index = {}
_changing = threading.Lock()
_started = threading.Event()


def _refresh():
    while True:
        with _changing:
            _started.set()
            for page in range(400):
                _index[page] = time.time()
                time.sleep(0.005)


def _start_once():
    if not _started.is_set():
        threading.Thread(target=_refresh, daemon=True).start()
        _started.wait()


def _write(scan):
    with _changing:
        _index[f"scan-{scan}"] = time.time()


def convert(scan):
    _start_once()
    process = multiprocessing.get_context("fork").Process(target=_write, args=(scan,))
    process.start()
    process.join()
    return scan
