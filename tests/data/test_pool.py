"""Memory of chunks is reused, but never while it is still in use."""

import threading

import numpy as np

from ltr_duel.data.text.chunks import Pool


def place(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again_when_nothing_refers_to_it():
    pool = Pool()
    first = pool.empty((100, 3), np.float32)
    assert first.shape == (100, 3) and first.dtype == np.float32 and first.flags.c_contiguous
    where = place(first)
    view = first[50:, 1]
    view[:] = 7
    del first
    other = pool.empty((100, 3), np.float32)
    assert place(other) != where and (view == 7).all(), "a view still lies there"
    del view
    again = pool.empty((10, 30), np.uint8)
    assert place(again) == where


def test_what_is_too_small_is_not_used():
    pool = Pool()
    pool.empty((10,), np.uint8)
    large = pool.empty((1000,), np.float64)
    large[:] = 1
    assert large.sum() == 1000 and pool.empty((0, 5), np.float32).shape == (0, 5)


def test_threads_never_share_memory():
    pool, wrong = Pool(), []

    def work(mark):
        for size in range(1, 400):
            array = pool.empty((size,), np.int64)
            array[:] = mark
            if not (array == mark).all():
                wrong.append(mark)

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
