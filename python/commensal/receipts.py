# SPDX-License-Identifier: Apache-2.0
"""What a receipt proves, checked here: neither gateway nor provider has to be believed.

Checked are both signatures, and that inputs and outputs are those that were signed. That the
outputs are *right* needs the model computed again: `commensal audit RECEIPT` does that.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import _roots
from ._encoding import (BatchSignature, Job, Opening, SignedReceipt, decode_opening,
                        decode_receipt, encode_body)
from ._secp256k1 import address_text, batch_digest, recover
from ._tensors import Array, Tensor
from .errors import BadAnswer, ReceiptInvalid

__all__ = ["Checked", "Receipt", "verify"]

_STEPS_MAX = 1 << 20


@dataclass(frozen=True)
class Checked:
    """What verification has shown. `inputs` and `outputs` are None where nothing was opened."""

    id: str
    job_id: str
    kind: str  # "answer" or "rollout"
    step: int
    steps: int
    provider: str  # who computed: its signature recovers to this address
    client: str  # who asked for it: the gateway
    graph_root: str
    weight_root: str
    commitment: str
    inputs: dict[str, Array] | None
    outputs: dict[str, Array] | None


def _job_id(job: Job) -> bytes:
    return _roots.tagged("commensal/job/v1", job.encoding)


def _check_signature(batch: BatchSignature, body: bytes, role: str, signer: bytes) -> None:
    try:
        root = _roots.root_of_path(_roots.leaf_hash(body), batch.index, batch.count, batch.path)
        found = recover(batch_digest(role, root, batch.count), batch.signature)
    except ValueError as error:
        raise ReceiptInvalid(f"receipt: {role} signature: {error}") from None
    if found != signer:
        raise ReceiptInvalid(f"receipt: {role} signature: recovers to {address_text(found)}, "
                             f"expected {address_text(signer)}: it was changed, or another signed")


def _check_signatures(receipt: SignedReceipt) -> bytes:
    """Both, over the body that follows from the job itself; returns the body."""
    job = receipt.job
    if not 1 <= receipt.step <= job.steps:
        raise ReceiptInvalid(f"receipt: step {receipt.step}, expected 1 to {job.steps}")
    body = encode_body(_job_id(job), receipt.step, receipt.commitment, receipt.round)
    _check_signature(receipt.provider, body, "provider", job.provider)
    _check_signature(receipt.client, body, "client", job.client)
    return body


def _check_before(opening: Opening) -> None:
    before, step = opening.before, opening.step
    if step == 1:
        if before or opening.outputs_before or any(opening.salt_before):
            raise ReceiptInvalid("opening: step 1 has none before it, but it shows one")
        return
    if before is None or before.job != opening.job or before.step != step - 1:
        raise ReceiptInvalid(f"opening: step {step} lacks the receipt of the step before it")
    _check_signatures(before)
    made = _roots.commit_step(_job_id(before.job), before.step,
                              _roots.state_root(opening.outputs_before), opening.salt_before)
    if made != before.commitment:
        raise ReceiptInvalid(f"opening: the state before does not open c_{before.step}")


def _check_opening(opening: Opening, receipt: SignedReceipt) -> None:
    job, step = receipt.job, receipt.step
    if opening.job != job or opening.step != step:
        raise ReceiptInvalid("opening: it is of another job or step than the receipt")
    if step > _STEPS_MAX:
        raise ReceiptInvalid(f"opening: step {step}, at most {_STEPS_MAX} are accepted")
    value = opening.noise_value
    if (_roots.hash_back(value, step) != job.noise_anchor) if job.noise else any(value):
        raise ReceiptInvalid("opening: the noise's value does not lead to its anchor")
    inputs = _roots.state_root(opening.inputs)
    if _roots.commit_input(inputs, opening.input_salt) != job.input_commitment:
        raise ReceiptInvalid("opening: its inputs are not those that the job committed to")
    _check_before(opening)
    outputs = _roots.state_root(opening.outputs)
    if _roots.commit_step(_job_id(job), step, outputs, opening.output_salt) != receipt.commitment:
        raise ReceiptInvalid(f"opening: its outputs are not those that step {step} committed to")


def _check_same(what: str, own: list[Tensor], opened: list[Tensor]) -> None:
    """That what this program sent or got is what was signed. The gateway may have given it another
    shape (a model's configuration says so), never other elements."""
    by_name = {tensor.name: tensor for tensor in opened}
    for tensor in own:
        found = by_name.get(tensor.name)
        if found is None or found.dtype != tensor.dtype or found.elements != tensor.elements:
            raise ReceiptInvalid(f"{what} '{tensor.name}' of the answer is not what was signed")


def _arrays(tensors: list[Tensor]) -> dict[str, Array]:
    return {tensor.name: tensor.array() for tensor in tensors}


def _check(receipt: SignedReceipt, opening: Opening | None) -> Checked:
    body = _check_signatures(receipt)
    if opening is not None:
        _check_opening(opening, receipt)
    job = receipt.job
    return Checked(
        id=_roots.tagged("commensal/receipt/v1", body).hex(), job_id=_job_id(job).hex(),
        kind=("answer", "rollout")[job.kind], step=receipt.step, steps=job.steps,
        provider=address_text(job.provider), client=address_text(job.client),
        graph_root=job.graph_root.hex(), weight_root=job.weight_root.hex(),
        commitment=receipt.commitment.hex(),
        inputs=_arrays(opening.inputs) if opening else None,
        outputs=_arrays(opening.outputs) if opening else None)


def verify(receipt: bytes, opening: bytes | None = None) -> Checked:
    """Checks what `commensal receipts ID --save FILE --save-opening FILE` wrote, without a gateway.
    Raises ReceiptInvalid."""
    return _check(decode_receipt(receipt), None if opening is None else decode_opening(opening))


@dataclass(frozen=True)
class Expected:
    """What the answer said beside its receipt, which has to be what was signed."""

    provider: str = ""
    roots: tuple[str, str] | None = None  # of graph and weights, as the hub has them
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()


class Receipt:
    """A receipt that a gateway keeps, by its id; fetched when it is first needed."""

    def __init__(self, id: str, fetch: Callable[[str], bytes], expected: Expected | None = None):
        self.id = id
        self._fetch = fetch
        self._expected = expected or Expected()
        self._signed: bytes | None = None

    def __repr__(self) -> str:
        return f"Receipt({self.id})"

    def signed(self) -> bytes:
        """As provider and gateway have signed it."""
        if self._signed is None:
            self._signed = self._fetch("receipt")
        return self._signed

    def opening(self) -> bytes:
        """What opens it: inputs, outputs and salts. Whoever has it sees them all."""
        return self._fetch("opening")

    def verify(self, opening: bool = True, provider: str | None = None,
               client: str | None = None) -> Checked:
        """Checks signatures, and (but with opening=False) that inputs and outputs, as this program
        sent and got them, are what was signed. `provider` and `client` (the gateway) are addresses
        that have to be those who signed. Raises ReceiptInvalid."""
        receipt = decode_receipt(self.signed())
        opened = decode_opening(self.opening()) if opening else None
        checked = _check(receipt, opened)
        if checked.id != self.id:
            raise ReceiptInvalid(f"the gateway sent the receipt {checked.id}, expected {self.id}")
        for role, wanted in (("provider", self._expected.provider or None),
                             ("provider", provider), ("client", client)):
            found = getattr(checked, role)
            if wanted is not None and found.lower() != wanted.lower():
                raise ReceiptInvalid(f"the {role} who signed is {found}, expected {wanted}")
        if self._expected.roots not in (None, (checked.graph_root, checked.weight_root)):
            raise ReceiptInvalid("the receipt is of another model than the hub has by its name")
        if opened is not None:
            _check_same("input", list(self._expected.inputs), opened.inputs)
            _check_same("output", list(self._expected.outputs), opened.outputs)
        return checked


def receipt_bytes(said: dict[str, object]) -> bytes:
    """Of the gateway's JSON about a receipt."""
    text = said.get("receipt")
    try:
        return bytes.fromhex(text if isinstance(text, str) else "?")
    except ValueError:
        raise BadAnswer("the gateway's answer about the receipt has no hexadecimal "
                        "'receipt'") from None
