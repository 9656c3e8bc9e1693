# SPDX-License-Identifier: Apache-2.0
"""Pictures become the very tensors that `commensal infer` makes of them."""
import itertools
import tracemalloc
import unittest

import commensal
import numpy as np
from commensal import _netpbm
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


class Netpbm(unittest.TestCase):
    def test_keeps_the_numbers_of_the_file(self):
        cases = [(b"P2 2 2 16 0 1 #c\n15 16", [[[0, 1], [15, 16]]]),
                 (b"P2#a b\n2\n1 # white\n16#w\n007\n8#end", [[[7, 8]]]),
                 (b"P2 1 1 16 5x", [[[5]]]),
                 (b"P5 2 1 100\n\x00\x64and more", [[[0, 100]]]),
                 (b"P5 1 1 16#\x09", [[[9]]]),
                 (b"P3 1 2 9 1 2 3 4 5 6", [[[1], [4]], [[2], [5]], [[3], [6]]]),
                 (b"P6 1 1 255\n\x01\x02\xff", [[[1]], [[2]], [[255]]])]
        for data, wanted in cases:
            made = _netpbm.decoded(data)
            self.assertEqual((made.dtype, made.tolist()), (np.float32, wanted), data)

    def test_refuses_what_is_none(self):
        cases = [(b"P2", "width"), (b"P2 2 2", "white"), (b"P2 2 2 0 1", "white"),
                 (b"P5 2 2 256 1234", "white"), (b"P5 0 2 255\n", "0 x 2"),
                 (b"P5 " + b"9" * 5000 + b" 2 255\n", "at most 16384 a side"),
                 (b"P5 16384 16384 255\n", "67108864 pixels"), (b"P5 2 2 255\n123", "cut short"),
                 (b"P2 2 1 16 1", "missing"), (b"P2 2 1 16 1x 2", "missing"),
                 (b"P2 2 1 16 1_0 2", "missing"), (b"P2 1 1 16 -1", "missing"),
                 (b"P2 1 1 16 17", "brighter"), (b"P5 1 1 16 \x11", "brighter"),
                 (b"P2 1 1 16 " + b"9" * 5000, "brighter"), (b"P2 1 1 300 256", "white"),
                 (b"P2 1 1 255 256", "brighter"), (b"P2 1 1 #9", "white"),
                 (b"P2 1 1 9 #9", "missing"), (b"P5 " + b"#" * 5000, "width"),
                 (b"P5 " + b"#\n" * 5000 + b" " * 5000, "width"),
                 (b"P3 8192 8192 255 1 2 3", "missing")]
        for data, text in cases:
            with self.assertRaisesRegex(ValueError, text, msg=data[:40]):
                _netpbm.decoded(data)


    def test_plain_pictures_take_little_more_than_their_files(self):
        side = 512
        wanted = np.arange(side * side).reshape(1, side, side) % 256
        rows = (b" ".join(b"%03d" % one for one in row) for row in wanted[0].tolist())
        data = b"P2 %d %d 255\n" % (side, side) + b" # a row\n".join(rows)
        tracemalloc.start()
        made = _netpbm.decoded(data)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        self.assertTrue((made == wanted).all())
        self.assertLess(peak, 6 * len(data))


class NetpbmAnswers(WithSystem):
    def test_are_those_of_the_command_line(self):
        file = self.system.folder / "dim.pgm"
        grey = " ".join(str(i % 17) for i in range(64))
        colours = bytes(i % 100 for i in range(192))
        for text in (f"P2 8 8 16 {grey}".encode(), b"P6 8 8 99\n" + colours,
                     f"P2 8 8 255 {grey}".encode()):
            file.write_bytes(text)
            answer = self.model.infer(file, picture=Picture(convert=True))
            self.system.run("infer", "digits", "--input", file, "--image-convert", "--output-dir",
                            self.system.folder / "out", token=self.token)
            wanted = np.load(self.system.folder / "out/logits.npy")
            self.assertEqual(answer.output.tobytes(), wanted.tobytes(), text[:16])
        file.write_bytes(b"P5 8 8 255\n")
        with self.expect(commensal.WrongInput, "dim.pgm", "cut short"):
            self.model.infer(file)


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
