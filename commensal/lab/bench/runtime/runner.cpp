// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/bench/runtime/runner.hpp>
#include <nlohmann/json.hpp>

namespace commensal::lab::bench {

using core::ErrorCode;
using core::fail;
using core::Result;
using Json = nlohmann::json;

namespace {

Result<Json> ask(Channel& channel, const Json& request) {
  const std::string text = request.dump(-1, ' ', false, Json::error_handler_t::replace);
  COMMENSAL_ASSIGN(const std::string line, channel.ask(text));
  Json answer = Json::parse(line, nullptr, false);
  if (!answer.is_object()) {
    return fail(ErrorCode::kInternal, "the measured process answered '{}', not a JSON object",
                line);
  }
  const auto error = answer.find("error");
  if (error == answer.end()) return answer;
  return fail(ErrorCode::kInternal, "{}", error->is_string() ? error->get<std::string>() : line);
}

Result<double> number(const Json& answer, const char* key) {
  const auto found = answer.find(key);
  if (found != answer.end() && found->is_number()) return found->get<double>();
  return fail(ErrorCode::kInternal, "the measured process's answer lacks the number '{}'", key);
}

Result<std::vector<double>> numbers(const Json& answer, const char* key, int count) {
  const auto found = answer.find(key);
  std::vector<double> values;
  if (found != answer.end() && found->is_array()) {
    for (const Json& one : *found) {
      if (one.is_number()) values.push_back(one.get<double>());
    }
  }
  if (static_cast<int>(values.size()) == count) return values;
  return fail(ErrorCode::kInternal, "the measured process's answer lacks {} numbers '{}'", count,
              key);
}

}  // namespace

Result<void> Runner::feed(const std::vector<InputFile>& inputs) {
  Json list = Json::array();
  for (const InputFile& one : inputs) {
    list.push_back(
        {{"name", one.name}, {"dtype", one.dtype}, {"shape", one.shape}, {"file", one.path}});
  }
  COMMENSAL_TRY(ask(*channel_, {{"do", "feed"}, {"inputs", std::move(list)}}));
  return {};
}

Result<Loading> Runner::load(const core::Path& model, int threads, Clock clock) {
  constexpr const char* kNames[] = {"language", "net", "own"};
  COMMENSAL_ASSIGN(const Json answer, ask(*channel_, {{"do", "load"},
                                                      {"model", model.string()},
                                                      {"threads", threads},
                                                      {"clock", kNames[static_cast<int>(clock)]}}));
  COMMENSAL_ASSIGN(const double session_s, number(answer, "session_seconds"));
  COMMENSAL_ASSIGN(const double answer_s, number(answer, "answer_seconds"));
  Loading made{session_s, answer_s};
  if (!answer.contains("language_seconds")) return made;
  COMMENSAL_ASSIGN(made.run_s, number(answer, "run_seconds"));
  COMMENSAL_ASSIGN(made.language_s, number(answer, "language_seconds"));
  COMMENSAL_ASSIGN(made.own_s, number(answer, "own_seconds"));
  COMMENSAL_ASSIGN(made.operators_s, number(answer, "operator_seconds"));
  return made;
}

Result<std::vector<Timing>> Runner::run(int count) {
  COMMENSAL_ASSIGN(const Json answer, ask(*channel_, {{"do", "run"}, {"count", count}}));
  COMMENSAL_ASSIGN(const auto seconds, numbers(answer, "seconds", count));
  COMMENSAL_ASSIGN(const auto cpu_seconds, numbers(answer, "cpu_seconds", count));
  double language_s = 0;
  if (answer.contains("language_seconds")) {
    COMMENSAL_ASSIGN(language_s, number(answer, "language_seconds"));
  }
  std::vector<Timing> timings;
  for (std::size_t i = 0; i < seconds.size(); ++i)
    timings.push_back({seconds[i], cpu_seconds[i], language_s});
  return timings;
}

Result<std::vector<InputFile>> Runner::outputs(const core::Path& folder) {
  COMMENSAL_ASSIGN(const Json answer,
                   ask(*channel_, {{"do", "outputs"}, {"folder", folder.string()}}));
  try {
    std::vector<InputFile> files;
    for (const Json& one : answer.at("outputs")) {
      files.push_back({one.at("name"), one.at("dtype"), one.at("shape"), one.at("file")});
    }
    return files;
  } catch (const Json::exception& error) {
    return fail(ErrorCode::kInternal, "the measured process's outputs: {}", error.what());
  }
}

}  // namespace commensal::lab::bench
