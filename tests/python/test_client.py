# SPDX-License-Identifier: Apache-2.0
"""The package against a real gateway with a real provider."""
import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import time
import unittest
from unittest import mock

import commensal
import numpy as np
from system import DIGITS, IMAGES, LABELS, ROOT, System, clean_environment


class WithSystem(unittest.TestCase):
    options: tuple = ()

    @classmethod
    def setUpClass(cls):
        cls.system = System(*cls.options)
        cls.addClassCleanup(cls.system.close)
        cls.token = cls.system.account("alice")
        environment = clean_environment(COMMENSAL_GATEWAY=cls.system.url,
                                        COMMENSAL_TOKEN=cls.token)
        patch = mock.patch.dict(os.environ, environment, clear=True)
        patch.start()
        cls.addClassCleanup(patch.stop)
        cls.client = commensal.login()
        cls.addClassCleanup(cls.client.close)
        cls.system.wait_for_provider(cls.client)
        cls.model = commensal.push(DIGITS)
        cls.images, cls.labels = np.load(IMAGES), np.load(LABELS)

    def expect(self, kind, *parts):
        """The error's class, and what its message has to say."""
        test = self

        class Expect:
            def __enter__(self):
                return self

            def __exit__(self, found, error, trace):
                test.assertIs(found, kind, error)
                for part in parts:
                    test.assertIn(part, str(error))
                return True

        return Expect()


class Answers(WithSystem):
    def test_an_answer_is_that_of_the_command_line(self):
        answer = commensal.model("alice/digits").infer(self.images[:1])
        said = json.loads(self.system.run("infer", "digits", "--input", self.one(), "--json",
                                          token=self.token))
        wanted = np.array(said["outputs"]["logits"]["data"], np.float32).reshape(1, 10)
        self.assertEqual(answer.output.tobytes(), wanted.tobytes())
        self.assertEqual(list(answer.outputs), ["logits"])
        self.assertEqual(answer.provider, self.system.provider)

    def one(self):
        file = self.system.folder / "one.npy"
        np.save(file, self.images[:1])
        return file

    def test_a_list_and_a_dict_are_inputs_too(self):
        one = self.images[:1]
        wanted = self.model.infer(one).output
        self.assertEqual(self.model.infer(one.astype(int).tolist()).output.tolist(),
                         wanted.tolist())
        self.assertEqual(self.model.infer({"image": one}).output.tolist(), wanted.tolist())
        strided = np.asfortranarray(one).astype(">f4")
        self.assertEqual(self.model.infer(strided).output.tolist(), wanted.tolist())

    def test_receipts_verify_and_agree_with_the_command_line(self):
        answer = self.model.infer(self.images[3:5])
        checked = answer.receipt.verify(provider=self.system.provider, client=self.system.key)
        self.assertEqual(checked.inputs["image"].tobytes(), self.images[3:5].tobytes())
        self.assertEqual(checked.outputs["logits"].tobytes(), answer.output.tobytes())
        said = json.loads(self.system.run("audit", answer.receipt.id, "--json", token=self.token))
        self.assertEqual(said["outcome"], "match")
        self.assertEqual(said["committed"], checked.commitment)
        again = self.client.receipt(answer.receipt.id).verify()
        self.assertEqual(again.job_id, checked.job_id)
        self.assertEqual(self.client.receipts(1)[0]["id"], answer.receipt.id)

    def test_files_verify_without_a_gateway(self):
        answer = self.model.infer(self.images[:1])
        files = [self.system.folder / name for name in ("saved.receipt", "saved.opening")]
        self.system.run("receipts", answer.receipt.id, "--save", files[0], "--save-opening",
                        files[1], token=self.token)
        receipt, opening = (file.read_bytes() for file in files)
        self.assertEqual(commensal.receipts.verify(receipt, opening).id, answer.receipt.id)
        self.assertEqual(receipt, answer.receipt.signed())
        for at in range(0, len(opening), 5):  # whatever byte of it: salts, elements, job
            bad = opening[:at] + bytes([opening[at] ^ 1]) + opening[at + 1:]
            with self.assertRaises(commensal.ReceiptInvalid, msg=at):
                commensal.receipts.verify(receipt, bad)
        other = self.model.infer(self.images[1:2]).receipt.opening()
        with self.expect(commensal.ReceiptInvalid, "of another job"):
            commensal.receipts.verify(receipt, other)

    def test_a_receipt_for_another_answer_is_refused(self):
        answer, other = (self.model.infer(self.images[i:i + 1]) for i in range(2))
        answer.receipt._fetch = other.receipt._fetch
        with self.expect(commensal.ReceiptInvalid, "sent the receipt", other.receipt.id):
            answer.receipt.verify()
        answer.receipt.id, answer.receipt._signed = other.receipt.id, None
        with self.expect(commensal.ReceiptInvalid, "input 'image' of the answer"):
            answer.receipt.verify()
        lied = self.model.infer(self.images[:1])
        lied.receipt._expected.outputs[0].__dict__["elements"] = bytes(40)
        with self.expect(commensal.ReceiptInvalid, "output 'logits' of the answer"):
            lied.receipt.verify()
        with self.expect(commensal.ReceiptInvalid, "the client who signed is"):
            other.receipt.verify(client=self.system.provider)

    def test_many_come_in_order_with_progress(self):
        seen = []
        batches = [self.images[i:i + 4] for i in range(0, 200, 4)]
        answers = list(self.model.infer_many(batches, at_once=8,
                                             progress=lambda done, of: seen.append((done, of))))
        found = np.concatenate([answer.output for answer in answers]).argmax(1)
        self.assertGreaterEqual((found == self.labels[:200]).sum(), 195)
        self.assertEqual(seen, [(n, 50) for n in range(1, 51)])

    def test_many_take_inputs_as_they_need_them(self):
        taken = []

        def inputs():
            for i in range(100):
                taken.append(i)
                yield self.images[i:i + 1]

        some = self.model.infer_many(inputs(), at_once=3)
        next(some)
        some.close()
        self.assertLessEqual(len(taken), 4)
        with self.assertRaises(commensal.WrongInput) as caught:
            list(self.model.infer_many([self.images[:1], self.images[0]]))
        self.assertEqual(caught.exception.__notes__, ["of input 1, counted from 0"])

    def test_asyncio(self):
        async def go():
            async with await commensal.aio.login() as client:
                model = await client.model("digits")
                ticks = asyncio.create_task(tick())
                answer = await model.infer(self.images[:1])
                checked = await answer.receipt.verify()
                many = [one.output async for one in model.infer_many(self.images[:20, None])]
                some = model.infer_many(self.images[:20, None], at_once=2)
                first = await anext(some)
                await some.aclose()
                ticks.cancel()
                with self.expect(commensal.WrongInput, "x[None]"):
                    await model.infer(self.images[0])
                with self.expect(commensal.UnknownModel, "did you mean alice/digits"):
                    await client.model("digit")
                with self.expect(commensal.RequestRefused, "unknown privacy class 'medical'"):
                    await model.infer(self.images[:1], privacy_class="medical")
                with self.expect(commensal.RequestRefused, "unknown privacy class 'legal'"):
                    await anext(model.infer_many(self.images[:1, None], privacy_class="legal"))
                return answer, checked, many, first

        beats = []

        async def tick():
            while True:
                beats.append(time.monotonic())
                await asyncio.sleep(0.001)

        answer, checked, many, first = asyncio.run(go())
        self.assertEqual(checked.id, answer.receipt.id)
        self.assertEqual(first.output.tolist(), many[0].tolist())
        one_by_one = [self.model.infer(self.images[i:i + 1]).output for i in range(20)]
        self.assertEqual([m.tolist() for m in many], [o.tolist() for o in one_by_one])
        self.assertGreater(len(beats), 3)  # the loop went on

    @unittest.skipUnless(importlib.util.find_spec("onnx"), "needs python3-onnx")
    def test_strings_and_several_inputs(self):
        files = [self.system.folder / f"{name}.onnx" for name in ("simple", "simple_string")]
        subprocess.run([sys.executable, ROOT / "models/triton/write_triton.py", *files], check=True)
        numbers, texts = map(self.client.push, files)
        a, b = np.arange(16, dtype=np.int32)[None], np.full((1, 16), 3, np.int32)
        answer = numbers.infer({"INPUT1": b, "INPUT0": a.tolist()})
        self.assertEqual(answer.outputs["OUTPUT0"].tolist(), (a + b).tolist())
        answer.receipt.verify()
        with self.expect(commensal.WrongInput, "has the outputs OUTPUT0, OUTPUT1"):
            print(answer.output)
        with self.expect(commensal.WrongInput, "2 inputs: give a dict"):
            numbers.infer(a)
        with self.expect(commensal.WrongInput, "do not fit into int32"):
            numbers.infer({"INPUT0": [[2**31] * 16], "INPUT1": b})
        answer = texts.infer({"INPUT0": a.astype(str), "INPUT1": [["3"] * 16]})
        self.assertEqual(answer.outputs["OUTPUT1"].astype(int).tolist(), (a - b).tolist())
        answer.receipt.verify()
        with self.expect(commensal.WrongInput, "an array of str or bytes"):
            texts.infer({"INPUT0": a, "INPUT1": b})


class Errors(WithSystem):
    def test_of_inputs(self):
        signature = "alice/digits(image float32[-1,1,8,8]) -> logits float32[-1,10]"
        one = self.images[:1]
        with self.expect(commensal.WrongInput, "found float64", "x.astype('float32')", signature):
            self.model.infer(one.astype(np.float64))
        with self.expect(commensal.WrongInput, "[1,8,8]", "x[None]", signature):
            self.model.infer(one[0])
        with self.expect(commensal.WrongInput, "[1,1,8,7]", signature):
            self.model.infer(one[..., :7])
        with self.expect(commensal.WrongInput, "no input 'imgae'", "did you mean 'image'"):
            self.model.infer({"imgae": one})
        with self.expect(commensal.RequestRefused, "'image' is missing"):
            self.model.infer({})
        with self.expect(commensal.WrongInput, "in the list", signature):
            self.model.infer([["three"]])
        with self.expect(commensal.WrongInput, "found object"):
            self.model.infer(None)

    def test_of_names(self):
        with self.expect(commensal.UnknownModel, "did you mean alice/digits?"):
            commensal.model("bob/digits")
        with self.expect(commensal.UnknownModel, "did you mean alice/digits?"):
            commensal.model("alice/diggits")
        with self.expect(commensal.UnknownModel, "client.models() lists"):
            commensal.model("zebra/crossing")
        with self.expect(commensal.RequestRefused, "OWNER/MODEL"):
            commensal.model("a/b/c")
        with self.expect(commensal.UnknownModel, "version"):
            commensal.model("digits", 99)
        for name in ("digits:1", "alice/digits:1"):
            self.assertEqual((commensal.model(name).version, commensal.model(name, 1).name),
                             (1, "alice/digits"))
        with self.expect(commensal.RequestRefused, "name two versions"):
            commensal.model("digits:1", 2)
        for name in ("digits:0", "digits:4294967296", "digits:" + "9" * 5000):
            with self.expect(commensal.RequestRefused, "a number from 1 to 4294967295"):
                commensal.model(name)
        with self.expect(commensal.UnknownModel, "version 99"):
            commensal.model("digits:99")
        with self.expect(commensal.NotFound):
            self.client.receipt("0" * 64).verify()

    def test_of_a_file_that_is_no_model(self):
        with self.expect(commensal.RequestRefused, "ONNX"):
            commensal.push(IMAGES, "images")
        with self.expect(commensal.NotAllowed):
            commensal.push(DIGITS, "bob/digits")
        with self.expect(commensal.RequestRefused, "private=True"):
            commensal.push(DIGITS, allow=["0x00"])

    def test_of_tokens(self):
        with self.expect(commensal.TokenRejected, "unknown token", "login(token=...)"):
            commensal.client.login(token="nonsense")
        with mock.patch.dict(os.environ, {"XDG_CONFIG_HOME": str(self.system.folder)}):
            del os.environ["COMMENSAL_TOKEN"]
            with self.expect(commensal.TokenRejected, "no token was found", "$COMMENSAL_TOKEN"):
                commensal.client.login()
            file = self.system.folder / "commensal/token"
            file.parent.mkdir()
            file.write_text(self.token + "\n")
            self.assertEqual(commensal.client.login().account, "alice")
            file.write_text("\n")
            with self.expect(commensal.TokenRejected, "the file is empty"):
                commensal.client.login()

    def test_a_token_expires_in_mid_session(self):
        file = self.system.folder / "short.token"
        self.system.run("account", "token", "short", "--expires-in", "2", "--save", file,
                        token=self.token)
        client = commensal.client.login(token=file.read_text().strip())
        model = client.model("digits")
        time.sleep(2.5)
        with self.expect(commensal.TokenRejected, "'short' of 'alice' has expired",
                         "commensal account token LABEL"):
            model.infer(self.images[:1])

    def test_a_large_model_with_a_bad_token(self):
        """The gateway answers, and hangs up, before all of it is sent."""
        client = commensal.client.login(token=self.system.account("dora"))
        self.system.run("account", "rotate", "dora")
        file = self.system.folder / "large.onnx"
        with file.open("wb") as made:
            made.truncate(50 << 20)
        with self.expect(commensal.TokenRejected, "unknown token"):
            client.push(file)

    def test_a_token_without_the_scope(self):
        file = self.system.folder / "narrow.token"
        self.system.run("account", "token", "narrow", "--scopes", "infer", "--save", file,
                        token=self.token)
        answer = commensal.client.login(token=file.read_text().strip()).model("digits").infer(
            self.images[:1])
        with self.expect(commensal.NotAllowed, "receipts"):
            answer.receipt.verify()

    def test_of_money(self):
        code, token = (self.system.folder / name for name in ("poor.code", "poor.token"))
        self.system.run("account", "invite", "poor", "--credit", "1", "--save", code)
        self.system.run("account", "signup", "carol", "--code-file", code, "--save", token)
        model = commensal.client.login(token=token.read_text().strip()).model("alice/digits")
        with self.expect(commensal.OutOfMoney, "can't pay", "commensal account balance"):
            model.infer(self.images[:1])

    def test_of_places(self):
        with self.expect(commensal.GatewayUnreachable, "no gateway answers", "login(url=...)"):
            commensal.client.login("http://127.0.0.1:9")
        for bad in ("ftp://x:1", "http://", "host", "http://h:99999", "http://h:80/path"):
            with self.expect(commensal.RequestRefused, "is no URL of a gateway"):
                commensal.client.login(bad)
        with self.expect(commensal.RequestRefused, "is not encrypted"):
            commensal.client.login(pin="0" * 64)


class OverBudget(WithSystem):
    options = ("--ops-max", "1000")

    def test_says_so(self):
        with self.expect(commensal.OverBudget, "operations"):
            self.model.infer(self.images[:1])


class Encrypted(unittest.TestCase):
    def test_trust_and_a_gateway_that_goes_away(self):
        system = System(tls=True)
        self.addCleanup(system.close)
        token = system.account("alice")
        with mock.patch.dict(os.environ, clean_environment(), clear=True):
            login = commensal.client.login
            with self.assertRaisesRegex(commensal.GatewayUntrusted, r"login\(pin=\.\.\.\)"):
                login(system.url, token)
            with self.assertRaisesRegex(commensal.GatewayUntrusted, "expected 0000"):
                login(system.url, token, pin="0" * 64)
            with self.assertRaisesRegex(commensal.GatewayUnreachable, "if it speaks TLS"):
                login(system.url.replace("https", "http"), token)
            with self.assertRaisesRegex(commensal.RequestRefused, "64 hexadecimal digits"):
                login(system.url, token, pin="12")
            self.assertEqual(login(system.url, token, ca=str(system.certificate)).account, "alice")
            client = login(system.url, token, pin=f"{'0' * 64},{system.pin}")
            system.wait_for_provider(client)
            model = client.push(DIGITS)
            answer = model.infer(np.load(IMAGES)[:1])
            answer.receipt.verify()
            system.kill_gateway()
            with self.assertRaises(commensal.GatewayUnreachable):
                model.infer(np.load(IMAGES)[:1])


if __name__ == "__main__":
    unittest.main()
