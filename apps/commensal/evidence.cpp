// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/evidence.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/store/sqlite_store.hpp>
#include <commensal/base/store/state_folder.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>

namespace commensal::apps {

using core::Result;

namespace {

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
Result<Evidence> from_files(const EvidenceOptions& options) {
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

}  // namespace

Result<Evidence> fetch_evidence(client::Client& client, const core::Digest& id,
                                const std::string& model) {
  COMMENSAL_ASSIGN(const auto info, client.receipt(id));
  if (!info.receipt || protocol::receipt_id(info.receipt->body()) != id) {
    return core::fail(core::ErrorCode::kDataLoss, "the gateway sent another receipt");
  }
  COMMENSAL_ASSIGN(const core::Bytes opening, client.opening(id));
  Evidence evidence{.receipt = *info.receipt, .opening = {}, .model = nullptr};
  COMMENSAL_ASSIGN(evidence.opening, protocol::decode<receipt::Opening>(opening));
  if (!model.empty()) {
    COMMENSAL_ASSIGN(evidence.model, graph::onnx::import_file(model));
    return evidence;
  }
  COMMENSAL_ASSIGN(core::Bytes bytes, client.model_content(info.model, info.version));
  const auto owner = std::make_shared<const core::Bytes>(std::move(bytes));
  COMMENSAL_ASSIGN(evidence.model, graph::onnx::import_bytes(*owner, owner));
  return evidence;
}

Result<Evidence> gather(const EvidenceOptions& options) {
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
  COMMENSAL_ASSIGN(auto client, connect(options.connection));
  return fetch_evidence(client, *id, options.model);
}

void EvidenceOptions::declare(CLI::App& app) {
  app.add_option("receipt", receipt, "A receipt's id, or a file with a receipt")->required();
  app.add_option("--data-dir", state, "Ask a gateway's folder, not the gateway");
  app.add_option("--opening", opening, "File with the opening, for a receipt's file");
  app.add_option("--model", model, "ONNX file (default: the gateway's)");
  connection.declare(app);
}

}  // namespace commensal::apps
