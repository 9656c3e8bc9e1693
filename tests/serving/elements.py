# SPDX-License-Identifier: Apache-2.0
"""Elements of BYTES, for both twins."""


def with_lengths(texts):
    """BYTES as they lie: a length in four bytes before each."""
    return b"".join(len(text).to_bytes(4, "little") + text for text in texts)


def texts_of(raw):
    texts = []
    while raw:
        size = int.from_bytes(raw[:4], "little")
        texts.append(raw[4:4 + size])
        raw = raw[4 + size:]
    return texts
