// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/hostile/line.hpp>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace commensal::lab::hostile {

/// What honest consumers have felt in a window.
struct Felt {
  std::uint64_t answers = 0;  // to what was asked in the window, whenever they came
  std::vector<double> ms;     // how long each took, and what was not asked because of it
  std::uint64_t wrong = 0;
  std::uint64_t failed = 0;
  std::string first_failure;
};

/// Consumers who ask for one model, a request after the other, and know the right answers, each
/// from an address of its own (127.0.0.2 and on). Now and then one comes by a new connection, and
/// asks on it a while later, as over a long way. They ask from begin() to end() only, and stop with
/// the object. Thread-safety: the owner's thread.
class HonestConsumers {
 public:
  struct Question {
    tensor::NamedTensors inputs;
    core::Digest output_root{};  // of the right answer
  };
  /// How one of them asks, from its address.
  using Dial = std::function<core::Result<std::unique_ptr<Line>>(const std::string& from)>;
  HonestConsumers(const std::vector<Dial>& consumers, std::string model,
                  std::vector<Question> questions);
  ~HonestConsumers();

  void begin();
  /// Waits for what has been asked, so that who waits longest is not left out.
  Felt end();

 private:
  void ask_on(const Dial& dial, std::size_t first);
  bool may_ask();
  /// Returns how long it took to connect.
  double come_anew(Line& line);
  void ask(Line& line, const Question& question, double connect_ms);

  const std::string model_;
  const std::vector<Question> questions_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stops_ = false;  // the rest is guarded by mutex_
  bool asks_ = false;
  int waiting_ = 0;
  Felt felt_;
  std::vector<std::thread> threads_;
};

}  // namespace commensal::lab::hostile
