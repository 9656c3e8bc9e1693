# SPDX-License-Identifier: Apache-2.0
"""Two small networks in PyTorch, binary64, with the weights that peer.cpp draws: the loss and every
gradient are those that peer.cpp makes, to 1e-10 of the largest; those that it makes in binary32, to
1e-5. Exit 77: no PyTorch."""
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
except ImportError:
    sys.exit(77)
from torch.nn import functional as f

BATCH, TOKENS, WIDTH, HEADS, KINDS = 2, 5, 8, 2, 11


def gpt(inputs, weights):
    """Two blocks: embedding, LayerNorm, causal attention, GELU; the head is the embedding."""
    ids, target = inputs
    w = iter(weights)
    table, places = next(w), next(w)
    x = table[ids] + places
    hidden = torch.triu(torch.ones(TOKENS, TOKENS, dtype=torch.bool), 1)
    for _ in range(2):
        n = f.layer_norm(x, (WIDTH,), next(w), next(w))
        q, k, v = (n @ next(w) + next(w)).split(WIDTH, -1)
        q, k, v = (t.view(BATCH, TOKENS, HEADS, -1).transpose(1, 2) for t in (q, k, v))
        likeness = (q @ k.transpose(-1, -2)) * 0.5
        seen = likeness.masked_fill(hidden, float("-inf")).softmax(-1) @ v
        x = x + seen.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH) @ next(w)
        n = f.layer_norm(x, (WIDTH,), next(w), next(w))
        x = x + f.gelu(n @ next(w) + next(w)) @ next(w)
    scores = f.layer_norm(x, (WIDTH,), next(w), next(w)) @ table.T
    return f.cross_entropy(scores.reshape(-1, KINDS), target.reshape(-1))


def residual(inputs, weights):
    """Two basic blocks, the second of half the size; BatchNorm by the batch's own statistics."""
    x, target = inputs
    w = iter(weights)

    def conv(x, stride, padding):
        return f.conv2d(x, next(w), stride=stride, padding=padding)

    def norm(x):
        return f.batch_norm(x, None, None, next(w), next(w), training=True)

    x = f.max_pool2d(f.relu(norm(conv(x, 1, 1))), 3, 2, 1)
    y = f.relu(norm(conv(x, 1, 1)))
    x = f.relu(norm(conv(y, 1, 1)) + x)
    y = f.relu(norm(conv(x, 2, 1)))
    y = norm(conv(y, 1, 1))
    x = f.relu(y + norm(conv(x, 2, 0)))
    scores = f.linear(x.mean((2, 3)), next(w), next(w))
    return f.cross_entropy(scores, target)


def read(folder, kind):
    made = []
    while True:
        try:
            made.append(np.load(f"{folder}{kind}{len(made)}.npy"))
        except FileNotFoundError:
            return made


def compare(folder, name, network, off_max):
    base = f"{folder}/{name}_"
    inputs = [torch.from_numpy(x) for x in read(base, "input")]
    weights = [torch.from_numpy(x).double().requires_grad_() for x in read(base, "weight")]
    ours = read(base, "gradient")
    loss = network(inputs, weights)
    loss.backward()
    pairs = [("the loss", loss.detach().numpy(), np.load(f"{base}loss.npy"))]
    assert len(ours) == len(weights) > 0, f"{name}: {len(ours)} gradients, {len(weights)} weights"
    pairs += [(f"weight {i}", w.grad.numpy(), g) for i, (w, g) in enumerate(zip(weights, ours))]
    most = 0
    for what, expected, got in pairs:
        assert expected.shape == got.shape, f"{name}, {what}: {got.shape}, not {expected.shape}"
        off = np.abs(expected - got).max() / (1e-6 + np.abs(expected).max())
        assert off < off_max, f"{name}, {what}: off by {off} of the largest"
        most = max(most, off)
    print(f"{name}: loss {float(loss):.6f}, {len(ours)} gradients, off by at most {most:.1e}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        compare(folder, "gpt", gpt, 1e-10)
        compare(folder, "gpt_narrow", gpt, 1e-5)
        compare(folder, "residual", residual, 1e-10)


main()
