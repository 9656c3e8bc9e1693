// SPDX-License-Identifier: Apache-2.0
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/labels.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <commensal/base/core/limits_observe.hpp>
#include <commensal/base/core/version.hpp>
#include <commensal/serve/observe/metrics.hpp>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

namespace commensal::observe {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;
using prometheus::Registry;

const std::vector<double> kSeconds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                      0.01,   0.025,   0.05,   0.1,   0.25,   0.5,
                                      1,      2.5,     5,      10,    30,     60};
const std::vector<double> kBytes = {256,     1024,    4096,     16384,    65536,     262144,
                                    1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30};

Family<Counter>& counter(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}
Family<Histogram>& histogram(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}
Gauge& gauge(Registry& registry, const char* name, const char* help, const Labels& labels = {}) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add(labels);
}
double of(std::uint64_t count) { return static_cast<double>(count); }
double s_of(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }
double us_of(std::int64_t ns) { return static_cast<double>(ns) * 1e-3; }

/// By model, version and code.
struct Inferences {
  explicit Inferences(Registry& at)
      : requests(counter(at, "commensal_requests_total", "Inferences that have ended, by code")),
        rows(counter(at, "commensal_rows_total", "Rows of the batches that were answered")),
        duration(histogram(at, "commensal_request_duration_seconds",
                           "From the request that was read to its durable receipt")),
        queue(histogram(at, "commensal_request_queue_seconds",
                        "The part of it before the account's turn at the gateway")),
        compute(histogram(at, "commensal_request_compute_seconds",
                          "The part behind that: a provider's queue and work, the receipt")),
        bytes_in(histogram(at, "commensal_request_bytes", "Elements of inputs")),
        bytes_out(histogram(at, "commensal_response_bytes", "Elements of outputs")) {}

  Family<Counter>&requests, &rows;
  Family<Histogram>&duration, &queue, &compute, &bytes_in, &bytes_out;
};

/// Under the names that Triton's users know (docs/user_guide/metrics.md of its server), which of
/// them an answer adds to and which a failure, in the order of triton_values().
struct TritonRow {
  const char* name;
  const char* help;
};
constexpr std::array<TritonRow, 9> kTritonRows = {{
    {"nv_inference_request_success", "Inferences that were answered"},
    {"nv_inference_request_failure", "Inferences that were not"},
    {"nv_inference_count", "Rows of the batches that were answered"},
    {"nv_inference_exec_count", "Runs of models for them, where providers tell; else jobs"},
    {"nv_inference_request_duration_us", "Durations of what was answered, in sum"},
    {"nv_inference_queue_duration_us", "The parts before the accounts' turns"},
    {"nv_inference_compute_input_duration_us", "0: part of the next"},
    {"nv_inference_compute_infer_duration_us", "The parts behind those turns"},
    {"nv_inference_compute_output_duration_us", "0: part of the one before"},
}};
using TritonValues = std::array<double, kTritonRows.size()>;

TritonValues triton_values(const Ended& ended) {
  if (!ended.is_success) return {0, 1};
  const double queued_us = us_of(ended.queued_ns), inferred_us = us_of(ended.inferred_ns);
  return {
      1,           0, of(ended.rows), of(ended.executions()), queued_us + inferred_us, queued_us, 0,
      inferred_us, 0};
}

using TritonFamilies = std::vector<Family<Counter>*>;  // empty: not wanted

TritonFamilies triton_families(Registry& registry) {
  TritonFamilies families;
  for (const TritonRow& row : kTritonRows)
    families.push_back(&counter(registry, row.name, row.help));
  return families;
}

/// Of one version of a model.
class Row {
 public:
  Row(const Inferences& all, const TritonFamilies& tritons, const std::string& model,
      const std::string& version)
      : requests_(all.requests),
        labels_({{"model", model}, {"version", version}}),
        rows_(all.rows.Add(labels_)),
        duration_(all.duration.Add(labels_, kSeconds)),
        queue_(all.queue.Add(labels_, kSeconds)),
        compute_(all.compute.Add(labels_, kSeconds)),
        bytes_in_(all.bytes_in.Add(labels_, kBytes)),
        bytes_out_(all.bytes_out.Add(labels_, kBytes)) {
    for (Family<Counter>* const family : tritons) tritons_.push_back(&family->Add(labels_));
  }

  void count(const Ended& ended) {
    of_code(ended.code).Increment();
    duration_.Observe(s_of(ended.queued_ns + ended.inferred_ns));
    queue_.Observe(s_of(ended.queued_ns));
    compute_.Observe(s_of(ended.inferred_ns));
    bytes_in_.Observe(of(ended.bytes_in));
    if (ended.is_success) {
      bytes_out_.Observe(of(ended.bytes_out));
      rows_.Increment(of(ended.rows));
    }
    if (tritons_.empty()) return;
    const TritonValues values = triton_values(ended);
    for (std::size_t i = 0; i < values.size(); ++i) tritons_[i]->Increment(values[i]);
  }

 private:
  Counter& of_code(std::string_view code) {
    const auto found = codes_.find(code);
    if (found != codes_.end()) return *found->second;
    Labels labels = labels_;
    labels.emplace("code", code);
    return *codes_.emplace(code, &requests_.Add(labels)).first->second;
  }

  Family<Counter>& requests_;
  Labels labels_;
  std::map<std::string_view, Counter*> codes_;
  Counter& rows_;
  Histogram &duration_, &queue_, &compute_, &bytes_in_, &bytes_out_;
  std::vector<Counter*> tritons_;  // in the order of kTritonRows; or none
};

struct Others {
  explicit Others(Registry& at)
      : uptime(gauge(at, "commensal_uptime_seconds", "Since the gateway's start")),
        providers(gauge(at, "commensal_providers_connected", "Providers with an open stream")),
        waiting(gauge(at, "commensal_jobs_waiting", "Jobs that wait for a free provider")),
        running(gauge(at, "commensal_jobs_running", "Jobs that a provider has")),
        held(gauge(at, "commensal_memory_held_bytes", "Of requests and answers, of all accounts")),
        held_max(gauge(at, "commensal_memory_max_bytes", "The bound of that (--memory)")),
        lines(counter(at, "commensal_log_lines_dropped_total", "Requests that were not logged")
                  .Add({})),
        spans(counter(at, "commensal_spans_dropped_total", "Spans that reached no collector")
                  .Add({})) {
    gauge(at, "commensal_build_info", "1; what runs is in the labels",
          {{"version", std::string(core::kVersion)}})
        .Set(1);
  }
  void set(const Readings& now) {
    uptime.Set(now.uptime_s);
    providers.Set(of(now.providers_connected));
    waiting.Set(of(now.jobs_waiting));
    running.Set(of(now.jobs_running));
    held.Set(static_cast<double>(now.memory_held_bytes));
    held_max.Set(static_cast<double>(now.memory_max_bytes));
    lines.Increment(of(now.log_lines_dropped) - lines.Value());
    spans.Increment(of(now.spans_dropped) - spans.Value());
  }

  Gauge &uptime, &providers, &waiting, &running, &held, &held_max;
  Counter &lines, &spans;
};

/// Of one method of gRPC.
class GrpcRow {
 public:
  GrpcRow(Family<Counter>& calls, Family<Histogram>& durations, std::string_view method)
      : calls_(calls),
        labels_({{"method", std::string(method)}}),
        duration_(durations.Add(labels_, kSeconds)) {}

  void count(int code, std::int64_t took_ns) {
    Counter*& one = codes_[code];
    if (one == nullptr) {
      Labels labels = labels_;
      labels.emplace("status", grpc_status(code));
      one = &calls_.Add(labels);
    }
    one->Increment();
    duration_.Observe(s_of(took_ns));
  }

 private:
  /// As the specification has them ("Status codes and their use in gRPC").
  static std::string grpc_status(int code) {
    constexpr std::array kNames = {"OK",
                                   "CANCELLED",
                                   "UNKNOWN",
                                   "INVALID_ARGUMENT",
                                   "DEADLINE_EXCEEDED",
                                   "NOT_FOUND",
                                   "ALREADY_EXISTS",
                                   "PERMISSION_DENIED",
                                   "RESOURCE_EXHAUSTED",
                                   "FAILED_PRECONDITION",
                                   "ABORTED",
                                   "OUT_OF_RANGE",
                                   "UNIMPLEMENTED",
                                   "INTERNAL",
                                   "UNAVAILABLE",
                                   "DATA_LOSS",
                                   "UNAUTHENTICATED"};
    const auto at = static_cast<std::size_t>(code);
    return at < kNames.size() ? kNames[at] : "UNKNOWN";
  }

  Family<Counter>& calls_;
  Labels labels_;
  Histogram& duration_;
  std::map<int, Counter*> codes_;
};

}  // namespace

struct Metrics::State {
  explicit State(bool with_tritons)
      : inferences(registry),
        tritons(with_tritons ? triton_families(registry) : TritonFamilies()),
        others(registry),
        http(counter(registry, "commensal_http_requests_total", "Answers over HTTP, by route")),
        grpc(counter(registry, "commensal_grpc_calls_total", "Calls over gRPC, by method")),
        grpc_duration(histogram(registry, "commensal_grpc_call_duration_seconds",
                                "From a call's head to its end; a stream is one call")) {}

  /// Under `mutex`.
  Row& row_of(const Ended& ended) {
    if (ended.model.empty()) return row_of({"unknown", 0}, "");
    const std::pair<std::string, std::uint32_t> key(ended.model, ended.version);
    const bool is_new = !rows.contains(key);
    if (is_new && rows.size() >= limits::kMeteredModelsMax) return row_of({"other", 0}, "");
    return row_of(key, std::to_string(ended.version));
  }
  Row& row_of(const std::pair<std::string, std::uint32_t>& key, const std::string& version) {
    const auto found = rows.find(key);
    if (found != rows.end()) return found->second;
    return rows.emplace(key, Row(inferences, tritons, key.first, version)).first->second;
  }

  Registry registry;
  Inferences inferences;
  TritonFamilies tritons;
  Others others;
  Family<Counter>&http, &grpc;
  Family<Histogram>& grpc_duration;
  std::mutex mutex;  // guards the rest
  std::map<std::pair<std::string, std::uint32_t>, Row> rows;
  std::map<std::tuple<std::string_view, std::string_view, int>, Counter*> routes;
  std::map<std::string_view, GrpcRow> methods;
};

Metrics::Metrics(bool with_tritons) : state_(std::make_unique<State>(with_tritons)) {}
Metrics::~Metrics() = default;

void Metrics::count(const Ended& ended) {
  const std::lock_guard lock(state_->mutex);
  state_->row_of(ended).count(ended);
}

void Metrics::count(std::string_view method, std::string_view route, int status) {
  const std::lock_guard lock(state_->mutex);
  Counter*& one = state_->routes[{method, route, status}];
  if (one == nullptr) {
    one = &state_->http.Add({{"method", std::string(method)},
                             {"route", std::string(route)},
                             {"status", std::to_string(status)}});
  }
  one->Increment();
}

void Metrics::count_grpc(std::string_view method, int code, std::int64_t took_ns) {
  const std::lock_guard lock(state_->mutex);
  auto found = state_->methods.find(method);
  if (found == state_->methods.end()) {
    found =
        state_->methods.emplace(method, GrpcRow(state_->grpc, state_->grpc_duration, method)).first;
  }
  found->second.count(code, took_ns);
}

std::string Metrics::text(const Readings& now) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->others.set(now);
  }
  return prometheus::TextSerializer().Serialize(state_->registry.Collect());
}

}  // namespace commensal::observe
