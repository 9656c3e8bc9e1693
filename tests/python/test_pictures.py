# SPDX-License-Identifier: Apache-2.0
"""Pictures become the very tensors that `commensal infer` makes of them."""
import itertools
import unittest

import commensal
import numpy as np
from commensal._pictures import Picture, picture_tensor
from test_client import WithSystem

try:
    from PIL import Image
except ImportError:
    Image = None


def noise(height, width, mode):
    channels = {"L": (), "RGB": (3,), "RGBA": (4,)}[mode]
    values = np.random.default_rng(height * width).integers(0, 256, (height, width, *channels))
    return Image.fromarray(values.astype(np.uint8), mode)


@unittest.skipUnless(Image, "needs python3-pil")
class Rules(unittest.TestCase):
    def test_what_fits_keeps_its_numbers(self):
        image = noise(8, 8, "L")
        made = picture_tensor(image, [-1, 1, 8, 8], "m", Picture())
        self.assertEqual((made.dtype, made.shape), (np.float32, (1, 1, 8, 8)))
        self.assertTrue((made[0, 0] == np.asarray(image)).all())
        free = picture_tensor(noise(5, 9, "RGB"), [1, 3, -1, -1], "m", Picture())
        self.assertEqual(free.shape, (1, 3, 5, 9))

    def test_what_does_not_fit_is_refused_with_what_to_do(self):
        cases = [(noise(8, 9, "L"), [1, 1, 8, 8], Picture(), "stretch, crop, pad"),
                 (noise(8, 8, "RGB"), [1, 1, 8, 8], Picture(), "convert=True"),
                 (noise(8, 8, "L"), [1, 8, 8, 3], Picture(), "make an array"),
                 (noise(8, 8, "L").convert("F"), [1, 1, 8, 8], Picture(), "convert('RGB')"),
                 (noise(8, 8, "RGBA"), [1, 3, 8, 8], Picture(), "over a background"),
                 (noise(8, 8, "L"), [1, 1, 8, 8], Picture(scale=0), "divided by 0"),
                 (noise(8, 8, "L"), [1, 1, 8, 8], Picture(mean=(1, 2)), "one number or three"),
                 (noise(8, 8, "L"), [1, 1, 8, 8], Picture(resize="shrink"), "one of refuse")]
        for image, shape, rule, text in cases:
            with self.assertRaises(commensal.WrongInput) as caught:
                picture_tensor(image, shape, "m", rule)
            self.assertIn(text, str(caught.exception))


@unittest.skipUnless(Image, "needs python3-pil")
class Answers(WithSystem):
    def test_are_those_of_the_command_line(self):
        file = self.system.folder / "picture.png"
        sizes, modes = ((31, 20), (5, 17)), ("L", "RGB", "opaque")
        for (height, width), mode, resize in itertools.product(
                sizes, modes, ("stretch", "crop", "pad")):
            image = noise(height, width, "RGB" if mode == "opaque" else mode)
            if mode == "opaque":
                image.putalpha(255)
            image.save(file)
            answer = self.model.infer(Image.open(file), picture=Picture(
                resize=resize, convert=True, mean=1.5, scale=15.9))
            self.system.run("infer", "digits", "--input", file, "--image-resize", resize,
                            "--image-convert", "--image-mean", "1.5", "--image-scale", "15.9",
                            "--output-dir", self.system.folder / "out", token=self.token)
            wanted = np.load(self.system.folder / "out/logits.npy")
            self.assertEqual(answer.output.tobytes(), wanted.tobytes(),
                             (height, width, mode, resize))
