# SPDX-License-Identifier: Apache-2.0
"""Pushes the digit network from Python, asks it what the picture shows, checks the receipt; prints
the receipt and the answer's bits as hexadecimal digits. tests/package/debian runs it.
usage: asks.py MODEL_FILE NAME PICTURE"""
import sys

import commensal
import numpy

file, name, picture = sys.argv[1:]
with open(picture) as lines:  # a PGM of numbers: P2, width, height, white, and they
    x = numpy.array(lines.read().split()[4:], numpy.float32).reshape(1, 1, 8, 8)
answer = commensal.push(file, name).infer(x)
checked = answer.receipt.verify()
assert checked.provider == answer.provider
assert answer.output.argmax() == 3, "the picture shows a three"
print(answer.receipt.id, answer.output.astype("<f4").tobytes().hex())
