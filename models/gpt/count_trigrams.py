#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What counting gives: nats a byte on the last tenth of TEXT, of trigrams counted in the rest.

  count_trigrams.py TEXT

A byte's probability after two others is their count and, weighing as much as two of them, that
after one, which is made likewise of how frequent the byte is. Needs Debian's python3-numpy.
"""
import pathlib
import sys

import numpy as np

WEIGHT = 2


def counts(text, length):
    keys = np.zeros(len(text) - length + 1, np.int64)
    for i in range(length):
        keys = keys * 256 + text[i:len(text) - length + 1 + i]
    return np.bincount(keys, minlength=256**length)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    text = np.frombuffer(pathlib.Path(sys.argv[1]).read_bytes(), np.uint8).astype(np.int64)
    cut = len(text) * 9 // 10
    known, held_out = text[:cut], text[cut:]
    ones, twos, threes = (counts(known, length) for length in (1, 2, 3))
    x, y, z = held_out[:-2], held_out[1:-1], held_out[2:]
    alone = (ones[z] + 1) / (cut + 256)
    after_one = (twos[y * 256 + z] + WEIGHT * alone) / (ones[y] + WEIGHT)
    after_two = threes[(x * 256 + y) * 256 + z] + WEIGHT * after_one
    likely = after_two / (twos[x * 256 + y] + WEIGHT)
    print(f"{-np.log(likely).mean():.3f} nats a byte")


if __name__ == "__main__":
    main()
