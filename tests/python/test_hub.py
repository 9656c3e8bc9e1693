# SPDX-License-Identifier: Apache-2.0
"""Cards, explore, names for answers: against a gateway that is none."""
import asyncio
import os
import pathlib
import tempfile
import unittest
import warnings
from unittest import mock

import commensal
import numpy as np
from commensal._pictures import CardPicture, Picture, card_tensor, picture_tensor
from hub_stub import Server
from system import clean_environment

try:
    from PIL import Image
except ImportError:
    Image = None

NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
CARD = {"license": "MIT", "parent": None, "task": "image-classification", "modality": "image",
        "tags": ["digits"], "labels": NAMES, "language": "en",
        "picture": {"input": "image", "resize": "stretch", "colour": "gray",
                    "layout": "NCHW", "size": None, "scale": 2, "mean": [0.75] * 3,
                    "std": [7.95] * 3},
        "output": {"name": "logits", "softmax": True, "top_k": 3},
        "example": {"input": "three.png", "text": "a three"}}


class WithStub(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="commensal-hub-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        patch = mock.patch.dict(os.environ, clean_environment(
            XDG_STATE_HOME=self.folder / "state"), clear=True)
        patch.start()
        self.addCleanup(patch.stop)
        server = Server()
        self.addCleanup(server.close)
        self.hub, self.url = server.hub, server.url
        self.client = commensal.client.login(server.url, "t")
        self.addCleanup(self.client.close)
        self.model = self.client.model("a/m")

    def image(self, height=8, width=8, mode="L"):
        values = np.random.default_rng(7).integers(
            0, 256, (height, width, *([3] if mode == "RGB" else [])))
        return Image.fromarray(values.astype(np.uint8), mode)


class Cards(WithStub):
    def test_a_card_says_what_its_owner_said(self):
        self.hub.card = CARD
        card = self.model.card()
        self.assertEqual((card.model, card.license, card.parent, card.task, card.modality),
                         ("a/m", "MIT", "", "image-classification", "image"))
        self.assertEqual((card.labels[3], card.tags, card.language, card.example),
                         ("three", ("digits",), ("en",), ("three.png", "a three")))
        self.assertEqual(card.text, "Reads digits.")
        self.assertTrue(card.source.startswith("---"))
        self.assertIn("10", repr(card))

    def test_none_is_said_with_what_to_do(self):
        with self.assertRaisesRegex(commensal.NotFound, r"a/m has no card.*model\.set_card"):
            self.model.card()

    def test_what_makes_no_sense_is_refused(self):
        for bad in ({"picture": {"size": ["wide"]}}, {"output": {"top_k": "many"}}, "text",
                    {"picture": {"mean": ["x"]}}, {"labels": 5}, {"example": "x"}):
            self.hub.card = bad
            with self.assertRaises(commensal.BadAnswer, msg=bad):
                self.model.card()

    def test_of_a_path_or_a_text(self):
        self.hub.card = CARD
        file = self.folder / "README.md"
        file.write_text("---\nlicense: mit\n---\nOf a file.\n")
        self.model.set_card(file)
        self.model.set_card(str(file))
        self.model.set_card("---\nlicense: mit\n---\nOf a text.\n")
        self.assertEqual([put.split(b"\n")[3] for put in self.hub.cards_put],
                         [b"Of a file.", b"Of a file.", b"Of a text."])
        with self.assertRaisesRegex(commensal.RequestRefused, "expected the path of a Markdown"):
            self.model.set_card("nonesuch.md")
        with self.assertRaisesRegex(commensal.RequestRefused, "at most 65536"):
            self.model.set_card("x\n" * 40000)

    def test_a_push_takes_its_card_along(self):
        file = self.folder / "small.onnx"
        file.write_bytes(b"model")
        self.client.push(file, card="---\nlicense: mit\n---\nWith it.\n")
        self.assertIn(b"With it.", self.hub.cards_put[0])
        asked = [target for method, target in self.hub.asked if method == "PUT"]
        self.assertEqual(asked, ["/v1/models/alice/small", "/v1/models/alice/small/card"])
        with self.assertRaises(commensal.RequestRefused):
            self.client.push(file, card="nonesuch.md")
        self.assertEqual(len(self.hub.cards_put), 1)

    def test_a_card_that_lies_is_refused_and_the_model_stays(self):
        self.hub.refuses_card = True
        file = self.folder / "small.onnx"
        file.write_bytes(b"model")
        with self.assertRaisesRegex(commensal.RequestRefused, "output 'logits'") as caught:
            self.client.push(file, card="---\n---\n")
        self.assertIn("version 1 of alice/small", caught.exception.__notes__[0])


class Names(WithStub):
    def ask(self, x=np.zeros((1, 1, 8, 8), np.float32)):
        return self.client.model("a/m").infer(x)

    def test_are_those_of_the_card_with_shares(self):
        self.hub.card = CARD
        answer = self.ask()
        powers = np.exp(np.arange(10.0) - 9)
        names = answer.names()
        self.assertEqual([name for name, _ in names], ["nine", "eight", "seven"])
        self.assertAlmostEqual(names[0][1], (powers / powers.sum())[9])
        self.assertEqual(answer.top(1), names[:1])
        self.assertEqual(len(answer.top(99)), 10)

    def test_without_a_card_are_places_and_values(self):
        self.assertEqual(self.ask().top(2), [("9", 9.0), ("8", 8.0)])
        self.assertEqual(len(self.ask().names()), 5)

    def test_the_card_is_asked_for_once(self):
        model = self.client.model("a/m")
        for _ in range(3):
            model.infer(np.zeros((1, 1, 8, 8), np.float32)).names()
        self.assertEqual(sum(target.endswith("/card") for _, target in self.hub.asked), 1)

    def test_dimensions_of_one_behind_do_not_count(self):
        self.hub.card = CARD
        self.hub.logits = np.arange(10, dtype="<f4").reshape(1, 10, 1, 1)
        self.assertEqual(self.ask().names()[0][0], "nine")
        self.hub.card = None
        self.assertEqual(self.ask().top(1), [("9", 9.0)])

    def test_equal_ones_come_by_place_and_no_numbers_last(self):
        self.hub.logits = np.array([[1, 2, 2, np.nan, 0, 0, 0, 0, 0, 0]], "<f4")
        self.assertEqual([name for name, _ in self.ask().top(3)], ["1", "2", "0"])
        self.assertEqual(self.ask().top(10)[-1][0], "3")

    def test_of_several_rows_one_is_named(self):
        self.hub.logits = np.stack([np.arange(10), -np.arange(10)]).astype("<f4")
        answer = self.ask()
        with self.assertRaisesRegex(commensal.WrongInput, r"2 rows: top\(k, row=0\)"):
            answer.top(1)
        self.assertEqual(answer.top(1, row=1), [("0", 0.0)])
        for k, row in ((1, 2), (0, 0)):
            with self.assertRaises(commensal.WrongInput):
                answer.top(k, row=row)

    def test_rows_lie_along_the_last_dimension(self):
        self.hub.card = {**CARD, "labels": ["a", "b", "c"]}
        values = np.array([[0, 1, 3], [5, 4, 1]], "<f4")
        shares = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
        for shape in ((2, 3), (1, 2, 3), (2, 3, 1, 1), (2, 1, 3)):
            self.hub.logits = values.reshape(shape)
            answer = self.ask()
            rows = answer.rows(2)
            self.assertEqual([[name for name, _ in row] for row in rows], [["c", "b"], ["a", "b"]])
            self.assertAlmostEqual(rows[0][0][1], shares[0, 2], 6)
            self.assertAlmostEqual(rows[1][1][1], shares[1, 1], 6)
            self.assertEqual(answer.top(2, row=1), rows[1])
            self.assertEqual([len(row) for row in answer.rows()], [3, 3])  # the card's top_k
            self.assertAlmostEqual(sum(share for _, share in answer.names(row=0)), 1)
        self.hub.logits = values[:1]
        self.assertEqual(self.ask().rows(), [self.ask().names()])
        self.hub.card = None
        self.hub.logits = values.reshape(2, 3, 1)  # without labels too
        self.assertEqual(self.ask().rows(1), [[("2", 3.0)], [("0", 5.0)]])

    def test_a_single_label_is_of_rows_of_one(self):
        self.hub.card = {**CARD, "labels": ["cat"], "output": {"name": "logits"}}
        self.hub.logits = np.array([[2], [7]], "<f4")
        self.assertEqual(self.ask().rows(), [[("cat", 2.0)], [("cat", 7.0)]])

    def test_of_several_outputs_the_one_is_read_that_is_meant(self):
        self.hub.others = {"boxes": np.zeros((1, 4), "<f4")}
        self.hub.card = CARD
        self.assertEqual(self.ask().names()[0][0], "nine")
        self.hub.card = {**CARD, "output": {"name": "", "softmax": True}}
        self.assertEqual(self.ask().names()[0][0], "nine")  # it has as many as there are labels
        self.hub.card = {**CARD, "output": {"name": "boxes"}, "labels": []}
        self.assertEqual(self.ask().top(1), [("0", 0.0)])
        for card in (None, {**CARD, "output": None, "labels": []}):
            self.hub.card = card
            with self.assertRaisesRegex(commensal.WrongInput, "logits, boxes.*take one of"):
                self.ask().names()

    def test_bits_are_ranked_as_numbers_or_not_at_all(self):
        self.hub.datatype = "BF16"
        self.hub.logits = (np.array([[-2, 1, 0.5]], "<f4").view("<u4") >> 16).astype("<u2")
        self.assertEqual(self.ask().top(3), [("1", 1.0), ("2", 0.5), ("0", -2.0)])
        self.hub.datatype, self.hub.logits = "FP8E5M2", np.array([[1, 200]], "u1")
        with self.assertRaisesRegex(commensal.WrongInput, "no numbers to rank: 'logits' is float8"):
            self.ask().top(1)
        self.hub.datatype, self.hub.logits = "FP32", np.zeros((1, 0), "<f4")
        with self.assertRaisesRegex(commensal.WrongInput, "no numbers to rank"):
            self.ask().rows()

    def test_a_card_that_does_not_fit_is_left_out_with_a_line(self):
        self.hub.card, self.hub.problem = CARD, "its labels:\n\x1b[2J3 of 10"
        model = self.client.model("a/m")
        answer = model.infer(np.zeros((1, 1, 8, 8), np.float32))
        with self.assertWarns(UserWarning) as caught:
            self.assertEqual(answer.top(1), [("9", 9.0)])
        self.assertEqual(str(caught.warning),
                         "a/m: its card is left out: its labels:??[2J3 of 10")
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # it is said once
            self.assertEqual(len(answer.names()), 5)
        self.assertEqual(model.card().labels[3], "three")  # who asks for it has it
        self.hub.problem = None
        self.assertEqual(model.card().problem, "")
        self.assertEqual(answer.names()[0][0], "nine")

    @unittest.skipUnless(Image, "needs python3-pil")
    def test_nor_are_pictures_read_by_it(self):
        self.hub.card, self.hub.problem = CARD, "the input 'image' is another"
        with self.assertWarnsRegex(UserWarning, "a/m: its card is left out: the input"), \
                self.assertRaisesRegex(commensal.WrongInput, r"picture=Picture"):
            self.model.infer(self.image(20, 31))

    def test_a_card_of_another_version_is_no_guess(self):
        self.hub.card = {**CARD, "labels": NAMES[:9]}
        with self.assertRaisesRegex(commensal.WrongInput, "9 labels, a row of the output 10 "):
            self.ask().names()
        self.hub.card = {**CARD, "output": {"name": "scores"}}
        with self.assertRaisesRegex(commensal.WrongInput, "reads the output 'scores'"):
            self.ask().names()


@unittest.skipUnless(Image, "needs python3-pil")
class Pictures(WithStub):
    def test_take_the_rules_of_the_card(self):
        self.hub.card = CARD
        file = self.folder / "picture.png"
        image = self.image(20, 31, "RGB")
        image.save(file)
        wanted = picture_tensor(image, [1, 1, 8, 8], "", Picture("stretch", True, 1.5, 15.9))
        for x in (image, file, str(file), {"image": file}):
            self.client.model("a/m").infer(x)
            self.assertEqual(self.hub.seen.tobytes(), wanted.tobytes())
        self.client.model("a/m").infer(self.image(), picture=Picture())  # said, so no card's
        self.assertEqual(self.hub.seen.max(), np.asarray(self.image()).max())

    def test_without_a_card_are_refused_as_before(self):
        with self.assertRaisesRegex(commensal.WrongInput, r"picture=Picture\(resize=\.\.\.\)"):
            self.model.infer(self.image(20, 31))

    def test_what_is_no_picture_says_so(self):
        text, cut = self.folder / "text.txt", self.folder / "cut.png"
        text.write_text("three")
        self.image(64, 64).save(cut)
        cut.write_bytes(cut.read_bytes()[:200])
        for path, said in ((text, "is no picture"), (cut, "no picture can be read"),
                           (self.folder / "none.png", "No such file")):
            with self.assertRaisesRegex(commensal.WrongInput, said):
                self.model.infer(path)

    def test_layout_colour_and_size(self):
        image = self.image(6, 4, "RGB")
        rule = Picture("stretch", True)
        planes = picture_tensor(image, [1, 3, 6, 4], "", rule)
        last = card_tensor(image, [1, 6, 4, 3], "", CardPicture("", rule, None, "NHWC"))
        self.assertTrue((last == np.moveaxis(planes, 1, 3)).all())
        rule = Picture("stretch", True, (1.0, 2.0, 3.0))  # in the order of the model's channels
        blue = card_tensor(image, [1, 3, -1, -1], "", CardPicture("", rule, (6, 4), colour="BGR"))
        self.assertTrue((blue[0, 0] == planes[0, 2] - 1).all())
        self.assertTrue((blue[0, 2] == planes[0, 0] - 3).all())
        grey = card_tensor(image, [1, -1, -1, -1], "", CardPicture("", rule, None, colour="gray"))
        self.assertEqual(grey.shape, (1, 1, 6, 4))


class Explore(WithStub):
    def test_follows_the_pages(self):
        found = self.client.explore("digits", task="image-classification", count=230)
        self.assertEqual([one["name"] for one in found], [f"a/m{n}" for n in range(230)])
        self.assertEqual(found[0]["task"], "image-classification")
        asked = [target for _, target in self.hub.asked if "explore" in target]
        self.assertEqual(len(asked), 3)
        self.assertIn("query=digits&task=image-classification", asked[0])
        self.assertEqual(len(self.client.explore(count=1000)), 250)

    def test_says_what_it_sorts_by(self):
        with self.assertRaisesRegex(commensal.RequestRefused, "name, newest, used"):
            self.client.explore(sort="best")

    def test_words_are_no_query(self):
        self.client.explore("a&task=b c", count=1)
        self.assertIn("query=a%26task%3Db%20c", self.hub.asked[-1][1])


class Asyncio(WithStub):
    def test_has_the_same(self):
        self.hub.card = CARD

        async def go():
            async with await commensal.aio.login(self.url, "t") as client:
                model = await client.model("a/m")
                card = await model.card()
                await model.set_card("---\n---\n")
                answer = await model.infer(np.zeros((1, 1, 8, 8), np.float32))
                file = self.folder / "small.onnx"
                file.write_bytes(b"model")
                await client.push(file, card="---\n---\n")
                self.assertEqual((await answer.top(1))[0][0], "nine")
                self.assertEqual(len(await client.explore(count=3)), 3)
                return card, await answer.names()

        card, names = asyncio.run(go())
        self.assertEqual((card.labels[0], len(names)), ("zero", 3))
        self.assertEqual(len(self.hub.cards_put), 2)
