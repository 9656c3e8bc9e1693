// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/loop.hpp>
#include <commensal/serve/gateway/gateway.hpp>
#include <commensal/serve/oip/serving.hpp>
#include <commensal/serve/oip/turns.hpp>
#include <functional>
#include <memory>
#include <string>

namespace commensal::oip {

using Task = std::function<void()>;

/// What whoever serves consumers works with, whatever protocol they speak. It and what it refers to
/// outlive all that runs on the loop.
struct Services {
  gateway::Gateway& gateway;
  core::Loop& loop;
  const core::Clock& clock;
  std::shared_ptr<Turns> turns;  // the way to the loop: accounts take turns
  /// Runs a task where bodies are encoded: off the loop, soon.
  std::function<void(Task)> codec;
  /// The way to the threads for what may take seconds (importing a model), two at a time of
  /// different accounts, which take turns.
  std::shared_ptr<Turns> staging;
  /// Likewise for what waits for a disk (a piece of a model), and for no model.
  std::shared_ptr<Turns> pieces;
  /// The way to the threads for bodies of limits::kHttpHeavyBytesMin or more: what else is small
  /// does not wait for them, and accounts take turns.
  std::shared_ptr<Turns> heavy;
  /// The way to where bodies are encoded for lists and for long models, one at a time: accounts
  /// take turns.
  std::shared_ptr<Turns> lists;
  Serving& serving;
  /// Who computes, on the loop; nobody: the gateway. The laboratory measures others behind the same
  /// faces.
  std::function<void(gateway::InferRequest, gateway::InferDone)> infer = {};
};

/// Has an answer of so many bytes of elements written: here where that takes no longer than to wake
/// another thread, soon, or on the account's turn.
void write_answer(const Services& services, const std::string& line, std::int64_t bytes,
                  Task write);

}  // namespace commensal::oip
