// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <cerrno>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/collocation/guest/scheduling.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/lab/bench/collocation/guest.hpp>
#include <commensal/lab/bench/runtime/inputs.hpp>
#include <cstring>
#include <future>

namespace commensal::lab::bench::collocation {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

constexpr int kNicest = 19;

Result<void> take_rank(Rank rank) {
  if (rank == Rank::kIdle) return guest::run_when_idle();
  if (rank == Rank::kNice && ::setpriority(PRIO_PROCESS, 0, kNicest) != 0)
    return fail(ErrorCode::kUnavailable, "nice 19 is refused: {}", std::strerror(errno));
  return {};
}

struct Loaded {
  graph::Session session;
  std::vector<tensor::Tensor> inputs;
};

Result<Loaded> load(const core::Path& model, core::Pacer& pacer) {
  COMMENSAL_ASSIGN(auto graph, graph::onnx::import_file(model));
  COMMENSAL_ASSIGN(auto inputs, bench::draw_inputs(*graph, 1));
  graph::SessionOptions options;
  options.pacer = &pacer;
  COMMENSAL_ASSIGN(auto session, graph::Session::create(std::move(graph), options));
  return Loaded{std::move(session), std::move(inputs)};
}

}  // namespace

void Gate::set(bool is_let) {
  is_stopped_ = !is_let;
  is_stopped_.notify_all();
}

bool Gate::passes(bool goes_on) const {
  is_stopped_.wait(true);
  return goes_on;
}

Result<std::unique_ptr<Guest>> Guest::start(const core::Path& model, Rank rank) {
  std::unique_ptr<Guest> made(new Guest);
  Guest& self = *made;
  self.set_level(1);  // while it loads
  std::promise<Result<void>> ready;
  std::future<Result<void>> is_ready = ready.get_future();
  made->thread_ = std::jthread(
      [&self, &model, rank, ready = std::move(ready)](const std::stop_token& stop) mutable {
        if (const auto done = take_rank(rank); !done) return ready.set_value(done);
        auto loaded = load(model, self.gate_);
        if (!loaded) return ready.set_value(tl::unexpected(loaded.error()));
        auto first = loaded->session.run(loaded->inputs);  // what is made on demand is made here
        self.set_level(0);
        ready.set_value(first ? Result<void>{} : tl::unexpected(first.error()));
        while (first && !stop.stop_requested() && loaded->session.run(loaded->inputs))
          self.images_.fetch_add(1, std::memory_order_relaxed);
      });
  COMMENSAL_TRY(is_ready.get());
  return made;
}

double Guest::cpu_s() {
  return 1e-9 * static_cast<double>(core::thread_cpu_ns(thread_.native_handle()));
}

Guest::~Guest() {
  thread_.request_stop();
  pacer_.stop();
  gate_.let();
}

}  // namespace commensal::lab::bench::collocation
