# SPDX-License-Identifier: Apache-2.0
"""Receipts of a rollout's steps and what lies before each, signed by the vectors' generator."""
import unittest

import commensal
import numpy as np
from commensal import _roots, _tensors
from test_receipts import generator

make = generator()
SALT, VALUES = make.h("salt"), make.revealed(make.h("seed"), 2)


def tensor(name, values):
    return _tensors.Tensor.of_array(name, _tensors.BY_OIP["FP32"], np.array(values, np.float32))


def encoded(tensors):
    return make.listed([
        make.u(len(t.name), 4) + t.name.encode() + make.u(t.dtype.number, 1)
        + make.u(len(t.shape), 1) + b"".join(make.u(d, 8) for d in t.shape)
        + make.u(len(t.elements), 8) + t.elements for t in tensors])


INPUTS, STATES = [tensor("x", [1, 2])], [[tensor("y", [3, 4])], [tensor("y", [5, 6])]]


def job_of(**changed):
    plain = dict(make.jobs()[0], kind=1, steps=2, noise=1, noise_exponent=16,
                 noise_anchor=VALUES[0], feeds=[[0, 0]],
                 input_commitment=_roots.commit_input(_roots.state_root(INPUTS), SALT))
    return make.encode_job(dict(plain, **changed))


def receipt_of(job, step, state, client=make.CLIENT_KEY):
    job_id = make.tagged("commensal/job/v1", job)
    commitment = _roots.commit_step(job_id, step, _roots.state_root(state), SALT)
    body = make.encode_body(job_id, step, commitment, 0)
    made = b"\x04\x04" + job + make.u(step, 8) + commitment + make.u(0, 8)
    for role, key in (("provider", make.PROVIDER_KEY), ("client", client)):
        digest = make.typed_digest(0, make.struct_hash(
            "ReceiptBatch(string role,bytes32 root,uint64 count)", make.keccak256(role.encode()),
            make.leaf(body), make.word(1)))
        made += make.encode_batch_signature(make.sign(key, digest), 0, [make.leaf(body)])
    return made


def opening_of(job, step, state, before=None, state_before=(), value=None):
    return (b"\1" + job + make.u(step, 8) + (VALUES[step] if value is None else value) + SALT
            + encoded(INPUTS) + (b"\0" if before is None else b"\1" + before)
            + (SALT if before else bytes(32)) + encoded(state_before) + SALT + encoded(state))


class Rollouts(unittest.TestCase):
    def expect(self, text, receipt, opening):
        with self.assertRaises(commensal.ReceiptInvalid) as caught:
            commensal.receipts.verify(receipt, opening)
        self.assertIn(text, str(caught.exception))

    def test_steps_verify(self):
        job = job_of()
        first, second = (receipt_of(job, i + 1, STATES[i]) for i in range(2))
        checked = commensal.receipts.verify(first, opening_of(job, 1, STATES[0]))
        self.assertEqual((checked.kind, checked.step, checked.steps), ("rollout", 1, 2))
        checked = commensal.receipts.verify(
            second, opening_of(job, 2, STATES[1], first, STATES[0]))
        self.assertEqual(checked.outputs["y"].tolist(), [5, 6])
        self.assertEqual(checked.provider.lower(), "0x" + make.address(make.PROVIDER_KEY).hex())

    def test_what_lies_before_has_to_be_signed_and_open(self):
        job = job_of()
        first, second = (receipt_of(job, i + 1, STATES[i]) for i in range(2))
        self.expect("lacks the receipt of the step before", second,
                    opening_of(job, 2, STATES[1]))
        self.expect("lacks the receipt of the step before", second,
                    opening_of(job, 2, STATES[1], second, STATES[1]))
        self.expect("does not open c_1", second, opening_of(job, 2, STATES[1], first, STATES[1]))
        self.expect("step 1 has none before it", first,
                    opening_of(job, 1, STATES[0], first, STATES[0]))
        unsigned = receipt_of(job, 1, STATES[0], client=make.AUDITOR_KEY)
        self.expect("client signature: recovers", second,
                    opening_of(job, 2, STATES[1], unsigned, STATES[0]))

    def test_noise_leads_to_its_anchor(self):
        job = job_of()
        self.expect("its anchor", receipt_of(job, 1, STATES[0]),
                    opening_of(job, 1, STATES[0], value=VALUES[2]))
        quiet = job_of(noise=0, noise_exponent=0, noise_anchor=bytes(32))
        receipt = receipt_of(quiet, 1, STATES[0])
        commensal.receipts.verify(receipt, opening_of(quiet, 1, STATES[0], value=bytes(32)))
        self.expect("its anchor", receipt, opening_of(quiet, 1, STATES[0]))

    def test_jobs_that_contradict_themselves(self):
        for changed in (dict(steps=0), dict(noise=0), dict(noise_exponent=101), dict(kind=2),
                        dict(states=3), dict(feeds=[[0, 1], [0, 0]]),
                        dict(auditors=0, auditor_list=[bytes(20)])):
            self.expect("receipt: ", receipt_of(job_of(**changed), 1, STATES[0]), None)
        self.expect("step 3, expected 1 to 2", receipt_of(job_of(), 3, STATES[0]), None)
