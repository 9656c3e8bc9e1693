// SPDX-License-Identifier: Apache-2.0
#include <fnmatch.h>

#include <algorithm>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/onnx/tensor_file.hpp>
#include <commensal/lab/conformance.hpp>

namespace commensal::lab {

using core::ErrorCode;
using core::fail;
using core::Path;
using core::Result;
using graph::onnx::NamedValue;
using tensor::Tensor;
using tensor::Value;

namespace {

struct Case {
  std::string name;
  Path model;
  std::vector<Path> data_sets;  // empty: a light model
};

bool is_folder(const Path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}
bool is_file(const Path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

std::vector<Path> data_sets_of(const Path& folder) {
  std::vector<Path> sets;
  for (int i = 0; is_folder(folder / fmt::format("test_data_set_{}", i)); ++i) {
    sets.push_back(folder / fmt::format("test_data_set_{}", i));
  }
  return sets;
}

Path light_output(const Path& model, int index) {
  return model.parent_path() / fmt::format("{}_output_{}.pb", model.stem().string(), index);
}

Result<std::vector<Case>> find_cases(const Path& root, const std::string& filter) {
  if (!is_folder(root)) return fail(ErrorCode::kNotFound, "'{}' is no folder", root.string());
  std::vector<Case> cases;
  std::error_code error;
  const auto options = std::filesystem::directory_options::skip_permission_denied;
  for (std::filesystem::recursive_directory_iterator at(root, options, error), end;
       !error && at != end; at.increment(error)) {
    const Path& path = at->path();
    if (path.extension() != ".onnx") continue;
    Case found{{}, path, {}};
    const bool folder_case = path.filename() == "model.onnx";
    if (folder_case) found.data_sets = data_sets_of(path.parent_path());
    if (folder_case ? found.data_sets.empty() : !is_file(light_output(path, 0))) continue;
    const Path named = folder_case ? path.parent_path() : path;
    found.name =
        named == root ? root.filename().string() : named.lexically_relative(root).generic_string();
    if (::fnmatch(filter.c_str(), found.name.c_str(), 0) == 0) cases.push_back(std::move(found));
  }
  if (error) {
    return fail(ErrorCode::kNotFound, "cannot list '{}': {}", root.string(), error.message());
  }
  if (cases.empty()) {
    return fail(ErrorCode::kNotFound, "no ONNX backend test in '{}' that '{}' matches",
                root.string(), filter);
  }
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

// File k is read as what value k is declared to be.
Result<std::vector<NamedValue>> read_values(const graph::Graph& graph,
                                            const std::vector<graph::ValueId>& ids,
                                            const Path& folder, std::string_view prefix) {
  std::vector<NamedValue> values;
  for (std::size_t i = 0;; ++i) {
    const Path path = folder / fmt::format("{}{}.pb", prefix, i);
    if (!is_file(path)) return values;
    const auto declared = i < ids.size() ? graph.values[static_cast<std::size_t>(ids[i])].declared
                                         : graph::Declared();
    COMMENSAL_ASSIGN(NamedValue read, graph::onnx::read_value_file(path, declared));
    values.push_back(std::move(read));
  }
}

// The suite's older files hold bfloat16 as its bits in uint16: what `declared` asks for decides.
Value in_type(const Value& value, const graph::Declared& declared) {
  if (!value.is_tensor()) return value;
  const Tensor& given = value.tensor();
  const bool bits =
      given.dtype() == tensor::DType::kUint16 && declared.dtype == tensor::DType::kBfloat16;
  return bits ? Tensor::copy_of({declared.dtype, given.shape()}, given.bytes()) : value;
}

// By name where the files carry the names of the graph's values, else in the files' order.
Result<std::vector<Value>> arrange(const graph::Graph& graph,
                                   const std::vector<graph::ValueId>& ids,
                                   const std::vector<NamedValue>& given) {
  std::vector<Value> by_name;
  for (const graph::ValueId id : ids) {
    for (const NamedValue& one : given) {
      if (one.name != graph.name_of(id)) continue;
      by_name.push_back(one.value);
      break;
    }
  }
  const bool named = by_name.size() == ids.size();
  std::vector<Value> arranged;
  for (std::size_t i = 0; i < (named ? by_name.size() : given.size()); ++i) {
    arranged.push_back(named ? by_name[i] : given[i].value);
    if (i >= ids.size()) continue;
    const auto id = static_cast<std::size_t>(ids[i]);
    arranged.back() = in_type(arranged.back(), graph.values[id].declared);
  }
  return arranged;
}

Result<std::vector<Value>> ramp_inputs(const graph::Graph& graph) {
  std::vector<Value> inputs;
  for (const graph::ValueId id : graph.inputs) {
    const graph::Declared& declared = graph.values[static_cast<std::size_t>(id)].declared;
    if (declared.dtype != tensor::DType::kFloat32) {
      return fail(ErrorCode::kUnsupported, "the suite defines no {} for input '{}'",
                  declared.text(), graph.name_of(id));
    }
    std::vector<std::int64_t> dims = declared.dims;
    for (std::int64_t& dim : dims) dim = dim < 0 ? 1 : dim;
    COMMENSAL_ASSIGN(const tensor::Shape shape, tensor::Shape::of(dims));
    std::vector<float> values(static_cast<std::size_t>(shape.elements()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(static_cast<double>(i) / static_cast<double>(values.size()));
    }
    inputs.emplace_back(Tensor::of<float>(shape, values));
  }
  return inputs;
}

Result<void> check_outputs(const graph::Graph& graph, std::span<const Value> got,
                           const std::vector<NamedValue>& files, const Tolerance& tolerance) {
  COMMENSAL_ASSIGN(const auto expected, arrange(graph, graph.outputs, files));
  if (expected.empty() || expected.size() > got.size()) {
    return fail(ErrorCode::kDataLoss, "{} outputs, expected {}", got.size(), expected.size());
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    auto same = compare(got[i], expected[i], tolerance);
    if (same) continue;
    return core::in_context(fmt::format("output '{}'", graph.name_of(graph.outputs[i])),
                            same.error());
  }
  return {};
}

Result<void> run_data_set(graph::Session& session, const Path& folder, const Tolerance& tolerance) {
  COMMENSAL_ASSIGN(const auto files,
                   read_values(session.graph(), session.graph().inputs, folder, "input_"));
  COMMENSAL_ASSIGN(const auto inputs, arrange(session.graph(), session.graph().inputs, files));
  COMMENSAL_ASSIGN(const auto outputs, session.run_values(inputs));
  COMMENSAL_ASSIGN(const auto expected,
                   read_values(session.graph(), session.graph().outputs, folder, "output_"));
  return check_outputs(session.graph(), outputs, expected, tolerance);
}

Result<void> run_light(graph::Session& session, const Case& one, const Tolerance& tolerance) {
  COMMENSAL_ASSIGN(const auto inputs, ramp_inputs(session.graph()));
  COMMENSAL_ASSIGN(const auto outputs, session.run_values(inputs));
  const std::string prefix = one.model.stem().string() + "_output_";
  COMMENSAL_ASSIGN(const auto expected, read_values(session.graph(), session.graph().outputs,
                                                    one.model.parent_path(), prefix));
  return check_outputs(session.graph(), outputs, expected, tolerance);
}

Result<void> run_case(const Case& one, const ConformanceOptions& options) {
  COMMENSAL_ASSIGN(const auto graph, graph::onnx::import_file(one.model));
  COMMENSAL_ASSIGN(auto session, graph::Session::create(graph, options.session));
  if (one.data_sets.empty()) return run_light(session, one, options.tolerance);
  for (const Path& folder : one.data_sets) {
    COMMENSAL_TRY(run_data_set(session, folder, options.tolerance));
  }
  return {};
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  constexpr std::string_view kNames[] = {"passed", "mismatched", "unsupported"};
  return kNames[static_cast<std::size_t>(outcome)];
}

Result<ConformanceReport> run_conformance(const Path& folder, const ConformanceOptions& options) {
  const Path root = folder.has_filename() ? folder : folder.parent_path();
  COMMENSAL_ASSIGN(const std::vector<Case> cases, find_cases(root, options.filter));
  ConformanceReport report;
  for (const Case& one : cases) {
    if (options.progress) options.progress(report.cases.size(), cases.size());
    ConformanceCase entry{one.name, Outcome::kPassed, ""};
    if (const auto ran = run_case(one, options); !ran) {
      const bool refused = ran.error().code == ErrorCode::kUnsupported;
      entry.outcome = refused ? Outcome::kUnsupported : Outcome::kMismatched;
      entry.detail = ran.error().message;
    }
    report.passed += entry.outcome == Outcome::kPassed;
    report.mismatched += entry.outcome == Outcome::kMismatched;
    report.unsupported += entry.outcome == Outcome::kUnsupported;
    report.cases.push_back(std::move(entry));
  }
  report.total = static_cast<int>(report.cases.size());
  return report;
}

}  // namespace commensal::lab
