// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/lab/bench/runtime/inputs.hpp>
#include <commensal/lab/bench/runtime/serve.hpp>
#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

namespace commensal::lab::bench {

using core::ErrorCode;
using core::fail;
using core::Result;
using Json = nlohmann::json;
using tensor::Tensor;

namespace {

constexpr int kRunsMax = 1'000'000;

double cpu_seconds() { return 1e-9 * static_cast<double>(core::process_cpu_ns()); }

InputFile input_file(const Json& one) {
  return {one.at("name"), one.at("dtype"), one.at("shape"), one.at("file")};
}

class Subject {
 public:
  explicit Subject(const core::Clock& clock) : clock_(clock) {}

  Result<Json> answer(const Json& request) {
    const std::string what = request.at("do");
    if (what == "feed") return feed(request);
    if (what == "load") return load(request);
    if (what == "run") return run(request);
    if (what == "outputs") return outputs(request);
    return fail(ErrorCode::kInvalidArgument, "no request '{}'", what);
  }

 private:
  double seconds() const { return 1e-9 * static_cast<double>(clock_.monotonic_ns()); }

  Result<Json> feed(const Json& request) {
    given_.clear();
    for (const Json& one : request.at("inputs")) {
      const InputFile file = input_file(one);
      COMMENSAL_ASSIGN(Tensor value, read_input(file));
      given_.insert_or_assign(file.name, std::move(value));
    }
    return order();
  }

  // The inputs in the graph's order, once both are known.
  Result<Json> order() {
    inputs_.clear();
    if (!session_) return Json::object();
    for (const graph::ValueId id : session_->graph().inputs) {
      const auto found = given_.find(session_->graph().name_of(id));
      if (found == given_.end()) {
        return fail(ErrorCode::kInvalidArgument, "no input '{}'", session_->graph().name_of(id));
      }
      inputs_.push_back(found->second);
    }
    return Json::object();
  }

  Result<Json> load(const Json& request) {
    const double start = seconds();
    COMMENSAL_ASSIGN(auto graph, graph::onnx::import_file(request.at("model").get<std::string>()));
    graph::SessionOptions options;
    options.threads = request.at("threads");
    COMMENSAL_ASSIGN(auto session, graph::Session::create(std::move(graph), options));
    session_ = std::move(session);
    const double made = seconds();
    COMMENSAL_TRY(order());
    COMMENSAL_TRY(session_->run(inputs_));
    return Json{{"session_seconds", made - start}, {"answer_seconds", seconds() - start}};
  }

  Result<Json> run(const Json& request) {
    const int count = request.at("count");
    if (!session_ || count < 1 || count > kRunsMax) {
      return fail(ErrorCode::kInvalidArgument, "no model loaded, or {} runs", count);
    }
    std::vector<double> wall, cpu;
    for (int i = 0; i < count; ++i) {
      const double cpu_before = cpu_seconds();
      const double before = seconds();
      COMMENSAL_TRY(session_->run(inputs_));
      wall.push_back(seconds() - before);
      cpu.push_back(cpu_seconds() - cpu_before);
    }
    return Json{{"seconds", wall}, {"cpu_seconds", cpu}};
  }

  Result<Json> outputs(const Json& request) {
    if (!session_) return fail(ErrorCode::kInvalidArgument, "no model loaded");
    COMMENSAL_ASSIGN(const auto made, session_->run(inputs_));
    const core::Path folder = request.at("folder").get<std::string>();
    Json list = Json::array();
    for (const Tensor& output : made) {
      const graph::Graph& graph = session_->graph();
      COMMENSAL_ASSIGN(const InputFile file,
                       write_input(folder / fmt::format("ours{}.bin", list.size()),
                                   graph.name_of(graph.outputs[list.size()]), output));
      list.push_back(
          {{"name", file.name}, {"dtype", file.dtype}, {"shape", file.shape}, {"file", file.path}});
    }
    return Json{{"outputs", list}};
  }

  const core::Clock& clock_;
  std::map<std::string, Tensor> given_;
  std::vector<Tensor> inputs_;
  std::optional<graph::Session> session_;
};

Json answer_to(Subject& subject, const std::string& line) {
  try {
    auto answer = subject.answer(Json::parse(line));
    return answer ? *std::move(answer) : Json{{"error", answer.error().message}};
  } catch (const Json::exception& error) {  // a request that is no JSON, or lacks something
    return {{"error", error.what()}};
  }
}

}  // namespace

void serve_runtime(std::istream& in, std::ostream& out, const core::Clock& clock) {
  Subject subject(clock);
  for (std::string line; std::getline(in, line);) {
    out << answer_to(subject, line).dump(-1, ' ', false, Json::error_handler_t::replace)
        << std::endl;
  }
}

}  // namespace commensal::lab::bench
