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

HonestConsumers::HonestConsumers(const client::ClientOptions& options, std::string model,
                                 std::vector<Question> questions, int count)
    : model_(std::move(model)), questions_(std::move(questions)) {
  for (int i = 0; i < count; ++i) {
    threads_.emplace_back([this, options, i] { ask_on(options, static_cast<std::size_t>(i)); });
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

double HonestConsumers::come_anew(client::Client& client) {
  const core::SystemClock clock;
  const std::int64_t begun_ns = clock.monotonic_ns();
  const auto connected = client.connect();
  const double took_ms = static_cast<double>(clock.monotonic_ns() - begun_ns) * 1e-6;
  std::this_thread::sleep_for(kFarAway);
  if (!connected || !client.is_connected()) {
    const std::lock_guard lock(mutex_);
    if (++felt_.failed == 1) {
      felt_.first_failure =
          connected ? "closed before anything was asked" : connected.error().message;
    }
  }
  return took_ms;
}

void HonestConsumers::ask(client::Client& client, const Question& question, double connect_ms) {
  const core::SystemClock clock;
  const std::int64_t begun_ns = clock.monotonic_ns();
  const auto answer = client.infer(model_, 0, question.inputs);
  const double took_ms = connect_ms + static_cast<double>(clock.monotonic_ns() - begun_ns) * 1e-6;
  const bool is_wrong = answer && receipt::state_root(answer->outputs) != question.output_root;
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

void HonestConsumers::ask_on(client::ClientOptions options, std::size_t first) {
  options.from = fmt::format("127.0.0.{}", 2 + first);
  auto client = client::Client::create(options);
  const core::SystemClock clock;
  for (std::size_t i = first; client && may_ask(); ++i) {
    double connect_ms = 0;
    if (i % kFreshEvery == 0) {
      client = client::Client::create(options);
      connect_ms = come_anew(*client);
    }
    const std::int64_t next_ns = clock.monotonic_ns() + kPeriodNs;
    ask(*client, questions_[i % questions_.size()], connect_ms);
    const std::int64_t left_ns = std::max<std::int64_t>(0, next_ns - clock.monotonic_ns());
    std::this_thread::sleep_for(std::chrono::nanoseconds(left_ns));
  }
}

}  // namespace commensal::lab::hostile
