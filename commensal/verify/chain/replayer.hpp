// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/verify/chain/link.hpp>
#include <list>

namespace commensal::chain {

/// An auditor of links: keeps the models that it used last. Thread-safety: one thread at a time.
class Replayer {
 public:
  /// replay() of the task; `model` is its file, imported where it is not kept.
  /// Errors: as replay(), those of importing the model.
  core::Result<core::Digest> replay(const LinkTask& task, const core::Path& model);

 private:
  struct Loaded {
    receipt::ModelRoots roots;
    noise::NoisySession session;
  };
  core::Result<Loaded*> loaded(const protocol::Job& job, const core::Path& model);

  std::list<Loaded> loaded_;  // youngest first
};

}  // namespace commensal::chain
