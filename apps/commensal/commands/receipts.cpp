// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/connection.hpp>
#include <apps/common/command.hpp>
#include <apps/common/outputs.hpp>
#include <apps/common/summary.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <memory>

namespace commensal::apps {
namespace {

using client::ReceiptInfo;
using core::Result;

struct ReceiptsArguments {
  std::string receipt;
  std::size_t count = 20;
  std::string save;
  std::string save_opening;
  std::string output_dir;
  Connection connection;
  bool json = false;
};

Result<int> list(const ReceiptsArguments& options, client::Client& client) {
  if (options.json) {
    COMMENSAL_ASSIGN(const std::string text,
                     client.get_json(fmt::format("/v1/receipts?count={}", options.count)));
    fmt::print("{}\n", text);
    return 0;
  }
  COMMENSAL_ASSIGN(const std::vector<ReceiptInfo> receipts, client.receipts(options.count));
  fmt::print("{:<64}  {:<20}  {:<10}  {}\n", "RECEIPT", "DELIVERED", "AUDIT", "MODEL");
  for (const ReceiptInfo& receipt : receipts) {
    fmt::print("{:<64}  {:<20}  {:<10}  {}\n", core::to_hex(receipt.id),
               utc_text(receipt.delivered_ms), receipt.audit, receipt.model);
  }
  return 0;
}

void print_receipt(const ReceiptInfo& receipt) {
  fmt::print("receipt      {}\nmodel        {} version {}\nmodel sha256 {}\n",
             core::to_hex(receipt.id), receipt.model, receipt.version,
             core::to_hex(receipt.model_content));
  fmt::print("provider     {}\naccount      {}\ndelivered    {}\naudit        {}\n",
             crypto::to_text(receipt.provider), receipt.account, utc_text(receipt.delivered_ms),
             receipt.audit);
  if (!receipt.outcome.empty()) {
    fmt::print("verdict      {}{}{}\n", receipt.outcome, receipt.reason.empty() ? "" : ": ",
               receipt.reason);
  }
  if (receipt.replaced_by) fmt::print("replaced by  {}\n", core::to_hex(*receipt.replaced_by));
  const auto valid = protocol::verify_receipt(*receipt.receipt);
  fmt::print("signatures   {}\n", valid ? "valid, of provider and client" : valid.error().message);
}

Result<void> save(const core::Bytes& bytes, const protocol::ReceiptBody& signed_for,
                  const ReceiptsArguments& options) {
  if (!options.save_opening.empty()) {
    COMMENSAL_TRY(core::save_for_user(options.save_opening, bytes, 0600));
  }
  if (options.output_dir.empty()) return {};
  COMMENSAL_ASSIGN(const auto opening, protocol::decode<receipt::Opening>(bytes));
  COMMENSAL_TRY(receipt::check_opening(opening, signed_for));
  return write_outputs(opening.outputs, options.output_dir);
}

Result<int> show(const ReceiptsArguments& options, client::Client& client) {
  const auto id = core::digest_from_hex(options.receipt);
  if (!id) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "a receipt's id has 64 hexadecimal digits, found '{}'", options.receipt);
  }
  COMMENSAL_ASSIGN(const ReceiptInfo receipt, client.receipt(*id));
  if (!receipt.receipt) {
    return core::fail(core::ErrorCode::kDataLoss, "the gateway did not send the receipt itself");
  }
  if (!options.save.empty()) {
    COMMENSAL_TRY(core::save_for_user(options.save, protocol::encode(*receipt.receipt)));
  }
  if (!options.save_opening.empty() || !options.output_dir.empty()) {
    COMMENSAL_ASSIGN(const core::Bytes opening, client.opening(*id));
    COMMENSAL_TRY(save(opening, receipt.receipt->body(), options));
  }
  if (options.json) {
    fmt::print("{}\n", receipt.json);
  } else {
    print_receipt(receipt);
  }
  return 0;
}

Result<int> receipts(const ReceiptsArguments& options) {
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  return options.receipt.empty() ? list(options, client) : show(options, client);
}

}  // namespace

Run declare_receipts(CLI::App& app) {
  const auto options = std::make_shared<ReceiptsArguments>();
  auto* receipt =
      app.add_option("receipt", options->receipt, "Show this one (default: list the newest)");
  app.add_option("--count", options->count, "How many are listed")
      ->check(CLI::Range(std::size_t{1}, limits::kReceiptsListedMax))
      ->capture_default_str();
  app.add_option("--save", options->save, "Write the signed receipt into this file")
      ->needs(receipt);
  app.add_option("--save-opening", options->save_opening,
                 "Write into this file what opens it: inputs, outputs and salts")
      ->needs(receipt);
  app.add_option("--output-dir", options->output_dir,
                 "Folder for the outputs that it stands for, as NAME.npy")
      ->needs(receipt);
  options->connection.declare(app);
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return receipts(*options); };
}

}  // namespace commensal::apps
