// SPDX-License-Identifier: Apache-2.0
// The judge in a thread of its own: a module worker for one answer (worker.js starts it).

import { recompute } from "./judge.js";

self.onmessage = async ({ data }) => {
  try {
    const onProgress = (progress) => self.postMessage({ progress });
    self.postMessage({ made: await recompute({ ...data, onProgress }) });
  } catch (error) {
    self.postMessage({ failed: error.message });
  }
};
