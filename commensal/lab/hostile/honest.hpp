// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <commensal/serve/client/client.hpp>
#include <mutex>
#include <thread>
#include <vector>

namespace commensal::lab::hostile {

/// What honest consumers have felt for a while.
struct Felt {
  std::vector<double> ms;  // of each answer
  std::uint64_t wrong = 0;
  std::uint64_t failed = 0;
  std::string first_failure;
};

/// Consumers who ask for one model, a request after the other, and know the right answers. They
/// stop with the object. Thread-safety: the owner's thread.
class HonestConsumers {
 public:
  struct Question {
    tensor::NamedTensors inputs;
    core::Digest output_root{};  // of the right answer
  };
  HonestConsumers(const client::ClientOptions& options, std::string model,
                  std::vector<Question> questions, int count);
  ~HonestConsumers();

  /// Since it was called last.
  Felt take();

 private:
  void ask_on(const client::ClientOptions& options, std::size_t first);

  const std::string model_;
  const std::vector<Question> questions_;
  std::atomic<bool> stops_ = false;
  std::mutex mutex_;
  Felt felt_;  // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace commensal::lab::hostile
