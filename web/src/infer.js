// SPDX-License-Identifier: Apache-2.0
// One answer of a model. Its outputs come as binary data: JSON rounds whole numbers beyond 2^53, and
// has no form of NaN and infinity, so that they could not be held against what was signed.
import { modelPath } from "./api.js";
import { elementsOf } from "./elements.js";

/** Made anew: whatever else came with it, such as elements of its own, is not believed. */
function outputOf({ name, datatype, shape, data }, elements) {
  if (!elements) return { name, datatype, shape, data };
  return { name, datatype, shape, elements, data: elementsOf({ oip: datatype, elements }) };
}

/**
 * The answer in the body of POST .../infer, of which the first `jsonBytes` are JSON (all of them,
 * where that is null): outputs that follow as binary data have `elements`, as they were signed, and
 * as `data` what is shown of them. Throws a RangeError where the body is not what it says.
 */
export function readAnswer(body, jsonBytes) {
  const answer = JSON.parse(new TextDecoder().decode(body.subarray(0, jsonBytes ?? body.length)));
  let at = jsonBytes ?? body.length;
  const outputs = (answer.outputs ?? []).map((output) => {
    const size = output.parameters?.binary_data_size;
    if (size === undefined) return outputOf(output, null);
    if (!(Number.isInteger(size) && size >= 0 && size <= body.length - at))
      throw new RangeError("the answer is cut off");
    at += size;
    return outputOf(output, body.slice(at - size, at));
  });
  return { ...answer, outputs };
}

/** `model`'s answer to `inputs`, as readAnswer() has it. */
export async function infer(api, model, inputs) {
  const path = `/v2/models/${modelPath(model.name)}/versions/${model.version}/infer`;
  const json = { inputs, parameters: { binary_data_output: true } };
  const response = await api.send("POST", path, { json });
  const length = response.headers.get("Inference-Header-Content-Length");
  const body = new Uint8Array(await response.arrayBuffer());
  return readAnswer(body, length === null ? null : Number(length));
}
