// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <commensal/base/core/clock.hpp>
#include <commensal/lab/hostile/honest.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::lab::hostile {
namespace {

constexpr std::int64_t kPeriodNs =
    25'000'000;  // each consumer asks so often, or would if it were answered
constexpr std::size_t kFreshEvery =
    16;  // questions: then it comes anew, by a connection of its own
constexpr auto kFarAway = std::chrono::milliseconds(100);

}  // namespace

HonestConsumers::HonestConsumers(const std::vector<Dial>& consumers, std::string model,
                                 std::vector<Question> questions)
    : model_(std::move(model)), questions_(std::move(questions)) {
  for (std::size_t i = 0; i < consumers.size(); ++i) {
    threads_.emplace_back([this, dial = consumers[i], i] { ask_on(dial, i); });
  }
}

HonestConsumers::~HonestConsumers() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void HonestConsumers::begin() {
  {
    const std::lock_guard lock(mutex_);
    asks_ = true;
  }
  changed_.notify_all();
}

Felt HonestConsumers::end() {
  std::unique_lock lock(mutex_);
  asks_ = false;
  changed_.wait(lock, [&] { return waiting_ == 0; });
  return std::exchange(felt_, {});
}

bool HonestConsumers::may_ask() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return asks_ || stops_; });
  waiting_ += stops_ ? 0 : 1;
  return !stops_;
}

double HonestConsumers::come_anew(Line& line) {
  const core::SystemClock clock;
  const std::int64_t begun_ns = clock.monotonic_ns();
  const auto connected = line.connect();
  const double took_ms = static_cast<double>(clock.monotonic_ns() - begun_ns) * 1e-6;
  std::this_thread::sleep_for(kFarAway);
  if (!connected || !line.is_connected()) {
    const std::lock_guard lock(mutex_);
    if (++felt_.failed == 1) {
      felt_.first_failure =
          connected ? "closed before anything was asked" : connected.error().message;
    }
  }
  return took_ms;
}

void HonestConsumers::ask(Line& line, const Question& question, double connect_ms) {
  const core::SystemClock clock;
  const std::int64_t begun_ns = clock.monotonic_ns();
  const auto answer = line.infer(model_, question.inputs);
  const double took_ms = connect_ms + static_cast<double>(clock.monotonic_ns() - begun_ns) * 1e-6;
  const bool is_wrong = answer && receipt::state_root(*answer) != question.output_root;
  {
    const std::lock_guard lock(mutex_);
    --waiting_;
    // What would have been asked meanwhile would have waited too: else who is held up for long is
    // one answer among hundreds (G. Tene, HdrHistogram, on coordinated omission).
    for (double ms = took_ms; answer && ms > 0; ms -= 1e-6 * kPeriodNs) felt_.ms.push_back(ms);
    felt_.answers += answer ? 1 : 0;
    if (!answer && ++felt_.failed == 1) felt_.first_failure = answer.error().message;
    felt_.wrong += is_wrong ? 1 : 0;
  }
  changed_.notify_all();
}

void HonestConsumers::ask_on(const Dial& dial, std::size_t first) {
  const auto line = dial(fmt::format("127.0.0.{}", 2 + first));
  const core::SystemClock clock;
  for (std::size_t i = first; line && may_ask(); ++i) {
    const double connect_ms = i % kFreshEvery == 0 ? come_anew(**line) : 0;
    const std::int64_t next_ns = clock.monotonic_ns() + kPeriodNs;
    ask(**line, questions_[i % questions_.size()], connect_ms);
    const std::int64_t left_ns = std::max<std::int64_t>(0, next_ns - clock.monotonic_ns());
    std::this_thread::sleep_for(std::chrono::nanoseconds(left_ns));
  }
}

}  // namespace commensal::lab::hostile
