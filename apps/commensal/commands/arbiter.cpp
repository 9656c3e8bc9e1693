// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/common/command.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/base/protocol/noun_in.hpp>
#include <commensal/verify/arbiter/parting.hpp>
#include <commensal/verify/arbiter/verdict.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;
using Json = nlohmann::ordered_json;

struct ArbiterArguments {
  std::string action;
  std::string file;
  std::string opening;
  bool json = false;
};

Json json_of(const arbiter::VerdictFile& file, const arbiter::Finding& found,
             std::string_view inputs) {
  Json wrong = Json::array();
  for (const arbiter::Side side : {arbiter::Side::kProvider, arbiter::Side::kChallenger}) {
    const std::size_t s = arbiter::at(side);
    if (!found.wrong[s]) continue;
    wrong.push_back({{"side", protocol::name_of(side)},
                     {"address", crypto::to_text(file.words[s].claim.party)}});
  }
  Json made = {{"receipt", core::to_hex(protocol::receipt_id(file.receipt.body()))},
               {"wrong", wrong},
               {"matter", protocol::name_of(found.matter)},
               {"node", found.node},
               {"operator", found.op},
               {"output", found.output},
               {"type", found.type}};
  made["inputs"] = inputs;
  if (found.matter == arbiter::Matter::kCarried) made["value_number"] = found.value;
  if (found.matter != arbiter::Matter::kOperation) return made;
  made["element"] = found.element;
  made["step"] = found.step;
  made["steps"] = found.steps;
  made["operation"] = scalar::operation(found.operation).name;
  for (const std::uint64_t bits : found.operands) {
    made["operands"].push_back(fmt::format("{:x}", bits));
  }
  made["result"] = fmt::format("{:x}", found.result);
  made["claimed"] = {{"provider", fmt::format("{:x}", found.claimed[0])},
                     {"challenger", fmt::format("{:x}", found.claimed[1])}};
  return made;
}

/// That the step was computed from what its opening says: its state before, with the noise that
/// its value makes.
Result<void> check_step(const ArbiterArguments& options, const arbiter::VerdictFile& file) {
  if (options.opening.empty()) return {};
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(options.opening));
  COMMENSAL_ASSIGN(const auto opening, protocol::decode<receipt::Opening>(bytes));
  const receipt::StepTask& task = opening.task;
  if (!(task.job == file.receipt.job) || task.step != file.receipt.step) {
    return core::fail(core::ErrorCode::kDataLoss, "'{}' is of another step than the verdict",
                      options.opening);
  }
  COMMENSAL_ASSIGN(const core::Digest root, receipt::input_root_of(task));
  if (root == file.words[0].claim.input_root) return {};
  return core::fail(core::ErrorCode::kDataLoss,
                    "both sides name the input root {}, but the step's state and noise have {}",
                    core::to_hex(file.words[0].claim.input_root), core::to_hex(root));
}

Result<int> check(const ArbiterArguments& options) {
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(options.file));
  if (bytes.empty() || bytes[0] != static_cast<std::uint8_t>(protocol::NounKind::kVerdictFile)) {
    const std::string noun = protocol::noun_in(bytes);
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "'{}': this is {}, expected a verdict file", options.file,
                      noun.empty() ? "something else" : noun);
  }
  COMMENSAL_ASSIGN(const auto file, protocol::decode<arbiter::VerdictFile>(bytes));
  const core::SystemClock clock;
  const std::int64_t begin_ns = clock.monotonic_ns();
  COMMENSAL_ASSIGN(const arbiter::Finding found, arbiter::judge(file));
  COMMENSAL_TRY(check_step(options, file));
  const std::int64_t took_us = (clock.monotonic_ns() - begin_ns) / 1000;
  const std::string_view inputs = arbiter::has_fixed_input(file.receipt.job) ? "opened by c_0"
                                  : options.opening.empty()                  ? "as both sides claim"
                                                                             : "those of the step";
  if (options.json) {
    Json made = json_of(file, found, inputs);
    made["file_bytes"] = bytes.size();
    made["check_us"] = took_us;
    fmt::print("{}\n", made.dump(2));
    return 0;
  }
  fmt::print(
      "receipt    {}\nprovider   {}\nchallenger {}\n{}\ninputs     {}\nchecked in {} us, {} "
      "bytes\n",
      core::to_hex(protocol::receipt_id(file.receipt.body())),
      crypto::to_text(file.words[0].claim.party), crypto::to_text(file.words[1].claim.party),
      arbiter::text_of(found), inputs, took_us, bytes.size());
  return 0;
}

Result<int> operators(const ArbiterArguments& options) {
  Json all = Json::array();
  for (const arbiter::OperatorRow& row : arbiter::disputable_operators()) {
    const std::string opsets =
        row.until == 0 ? fmt::format("{}-", row.since) : fmt::format("{}-{}", row.since, row.until);
    if (options.json) {
      all.push_back({{"operator", row.name}, {"opsets", opsets}, {"types", row.types}});
    } else {
      fmt::print("{:<24} {:<6} {}\n", row.name, opsets, row.types);
    }
  }
  if (options.json) fmt::print("{}\n", all.dump(2));
  return 0;
}

Result<int> arbiter_command(const ArbiterArguments& options) {
  if (options.action == "operators") return operators(options);
  if (options.action == "check" && options.file.empty()) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "expected: arbiter check FILE, a verdict file");
  }
  if (options.action == "check") return check(options);
  return core::fail(core::ErrorCode::kInvalidArgument,
                    "no action '{}'; there are check FILE and operators", options.action);
}

}  // namespace

Run declare_arbiter(CLI::App& app) {
  const auto options = std::make_shared<ArbiterArguments>();
  app.add_option("action", options->action,
                 "check: a verdict file; operators: those that can be disputed")
      ->required();
  app.add_option("file", options->file, "A verdict file");
  app.add_option("--opening", options->opening,
                 "The opening of the step: check besides that it began with its state and noise");
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return arbiter_command(*options); };
}

}  // namespace commensal::apps
