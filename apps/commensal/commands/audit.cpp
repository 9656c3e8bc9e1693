// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/commensal/connection.hpp>
#include <apps/common/backend_options.hpp>
#include <apps/common/command.hpp>
#include <apps/common/summary.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/store/sqlite_store.hpp>
#include <commensal/base/store/state_folder.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;
using Json = nlohmann::ordered_json;

struct AuditArguments {
  std::string receipt;  // an id or a file
  std::string state;
  std::string opening;
  std::string model;
  Connection connection;
  BackendOptions backend;
  bool json = false;
};

/// Everything a re-execution needs, wherever it came from.
struct Evidence {
  protocol::Receipt receipt;
  receipt::Opening opening;
  std::shared_ptr<const graph::Graph> model;
};

/// From a gateway's folder, without the gateway.
Result<Evidence> from_state(const core::Digest& id, const core::Path& folder) {
  const core::Path file = folder / "state.sqlite";
  if (!std::filesystem::exists(file)) {
    return core::fail(core::ErrorCode::kNotFound, "'{}' is not the folder of a gateway",
                      folder.string());
  }
  COMMENSAL_ASSIGN(const auto store, store::open_sqlite_store(file));
  COMMENSAL_TRY(store::StateFolder::check_role(*store, folder, "gateway"));
  gateway::ReceiptBook book(*store, {}, gateway::OpeningFolder(folder / "openings"));
  COMMENSAL_TRY(book.open());
  COMMENSAL_ASSIGN(const gateway::ReceiptRecord record, book.find(id));
  Evidence evidence{.receipt = record.receipt, .opening = {}, .model = nullptr};
  COMMENSAL_ASSIGN(evidence.opening, book.opening(record));
  const core::SystemClock clock;
  const gateway::ModelHub hub(*store, folder / "models", clock);
  COMMENSAL_ASSIGN(evidence.model, graph::onnx::import_file(hub.path_of(record.model_content)));
  return evidence;
}

/// Versions are counted from 1: what begins with a larger number is something else.
bool may_be_opening(core::ByteView file) {
  constexpr int kVersionsAhead = 4;
  return file.empty() || file[0] <= protocol::version_of<receipt::Opening>() + kVersionsAhead;
}

/// From files that somebody handed over.
Result<Evidence> from_files(const AuditArguments& options) {
  if (options.opening.empty() || options.model.empty()) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "a receipt's file needs --opening FILE and --model FILE beside it");
  }
  COMMENSAL_ASSIGN(const core::Bytes receipt, core::read_file(options.receipt));
  COMMENSAL_ASSIGN(const core::Bytes opening, core::read_file(options.opening));
  Evidence evidence;
  auto read = protocol::decode<protocol::Receipt>(receipt);
  if (!read && protocol::decode<receipt::Opening>(receipt)) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "'{}': this is an opening, expected a receipt", options.receipt);
  }
  if (!read) return core::in_context(options.receipt, read.error());
  auto opened = protocol::decode<receipt::Opening>(opening);
  if (!opened && protocol::decode<protocol::Receipt>(opening)) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "'{}': this is a receipt, expected an opening", options.opening);
  }
  if (!opened && !may_be_opening(opening)) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "'{}': this is something else, expected an opening", options.opening);
  }
  if (!opened) return core::in_context(options.opening, opened.error());
  evidence.receipt = *std::move(read);
  evidence.opening = *std::move(opened);
  COMMENSAL_ASSIGN(evidence.model, graph::onnx::import_file(options.model));
  return evidence;
}

/// From the gateway, over its public API; nothing that it says is believed.
Result<Evidence> from_gateway(const core::Digest& id, const AuditArguments& options) {
  COMMENSAL_ASSIGN(auto client, connect(options.connection));
  COMMENSAL_ASSIGN(const auto info, client.receipt(id));
  if (!info.receipt || protocol::receipt_id(info.receipt->body()) != id) {
    return core::fail(core::ErrorCode::kDataLoss, "the gateway sent another receipt");
  }
  COMMENSAL_ASSIGN(const core::Bytes opening, client.opening(id));
  Evidence evidence{.receipt = *info.receipt, .opening = {}, .model = nullptr};
  COMMENSAL_ASSIGN(evidence.opening, protocol::decode<receipt::Opening>(opening));
  if (!options.model.empty()) {
    COMMENSAL_ASSIGN(evidence.model, graph::onnx::import_file(options.model));
    return evidence;
  }
  COMMENSAL_ASSIGN(core::Bytes bytes, client.model_content(info.model, info.version));
  const auto owner = std::make_shared<const core::Bytes>(std::move(bytes));
  COMMENSAL_ASSIGN(evidence.model, graph::onnx::import_bytes(*owner, owner));
  return evidence;
}

Result<Evidence> gather(const AuditArguments& options) {
  const auto id = core::digest_from_hex(options.receipt);
  if (!id && !std::filesystem::exists(options.receipt)) {
    return core::fail(
        core::ErrorCode::kInvalidArgument,
        "'{}' is neither a receipt's id, which has 64 hexadecimal digits (this has {} "
        "characters), nor a file",
        options.receipt, options.receipt.size());
  }
  if (!id) return from_files(options);
  if (!options.state.empty()) return from_state(*id, options.state);
  return from_gateway(*id, options);
}

/// Of the outputs that were delivered, as `infer` showed them.
Json output_hashes(const Evidence& evidence) {
  Json hashes = Json::object();
  for (const tensor::NamedTensor& output : evidence.opening.outputs) {
    hashes[output.name] = {{"sha256", hash_of(output.value)}};
  }
  return hashes;
}

Result<int> audit(const AuditArguments& options) {
  COMMENSAL_ASSIGN(const Evidence evidence, gather(options));
  const auto passed = [&](std::string_view check) {
    if (!options.json) fmt::print("ok        {}\n", check);
  };
  COMMENSAL_ASSIGN(const receipt::Recheck found,
                   receipt::recheck(evidence.receipt, evidence.opening, evidence.model,
                                    options.backend.session(), passed));
  const char* outcome = found.matches() ? "match" : "mismatch";
  if (options.json) {
    fmt::print("{}\n", Json({{"receipt", core::to_hex(found.receipt)},
                             {"provider", crypto::to_text(evidence.receipt.job.provider)},
                             {"outcome", outcome},
                             {"outputs", output_hashes(evidence)},
                             {"committed", core::to_hex(found.expected)},
                             {"recomputed", core::to_hex(found.recomputed)}})
                           .dump(2));
  } else {
    for (const tensor::NamedTensor& output : evidence.opening.outputs) {
      fmt::print("delivered  {}  {}\n", hash_of(output.value), output.name);
    }
    fmt::print("committed  {}\nrecomputed {}\n{}\n", core::to_hex(found.expected),
               core::to_hex(found.recomputed),
               found.matches() ? "MATCH: the answer is right, to the last bit"
                               : "MISMATCH: the provider committed to another answer");
  }
  return found.matches() ? 0 : 2;
}

}  // namespace

Run declare_audit(CLI::App& app) {
  const auto options = std::make_shared<AuditArguments>();
  app.add_option("receipt", options->receipt, "A receipt's id, or a file with a receipt")
      ->required();
  app.add_option("--data-dir", options->state, "Ask a gateway's folder, not the gateway");
  app.add_option("--opening", options->opening, "File with the opening, for a receipt's file");
  app.add_option("--model", options->model, "ONNX file (default: the gateway's)");
  options->connection.declare(app);
  options->backend.declare(app);
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return audit(*options); };
}

}  // namespace commensal::apps
