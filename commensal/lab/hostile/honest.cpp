// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <commensal/base/core/clock.hpp>
#include <commensal/lab/hostile/honest.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::lab::hostile {
namespace {

constexpr auto kThink = std::chrono::milliseconds(5);

}  // namespace

HonestConsumers::HonestConsumers(const client::ClientOptions& options, std::string model,
                                 std::vector<Question> questions, int count)
    : model_(std::move(model)), questions_(std::move(questions)) {
  for (int i = 0; i < count; ++i) {
    threads_.emplace_back([this, options, i] { ask_on(options, static_cast<std::size_t>(i)); });
  }
}

HonestConsumers::~HonestConsumers() {
  stops_ = true;
  for (std::thread& thread : threads_) thread.join();
}

Felt HonestConsumers::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(felt_, {});
}

void HonestConsumers::ask_on(const client::ClientOptions& options, std::size_t first) {
  const core::SystemClock clock;
  auto client = client::Client::create(options);
  for (std::size_t i = first; !stops_ && client; ++i) {
    const Question& question = questions_[i % questions_.size()];
    const std::int64_t begun_ns = clock.monotonic_ns();
    const auto answer = client->infer(model_, 0, question.inputs);
    const double took_ms = static_cast<double>(clock.monotonic_ns() - begun_ns) * 1e-6;
    {
      const std::lock_guard lock(mutex_);
      if (!answer) {
        if (++felt_.failed == 1) felt_.first_failure = answer.error().message;
      } else {
        felt_.ms.push_back(took_ms);
        felt_.wrong += receipt::state_root(answer->outputs) == question.output_root ? 0 : 1;
      }
    }
    std::this_thread::sleep_for(kThink);
  }
}

}  // namespace commensal::lab::hostile
