// SPDX-License-Identifier: Apache-2.0
// Open claims, which may be bought, and what the gateway's desk says of them and of answers.
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/gateway/claim_desk.hpp>
#include <commensal/serve/http/api.hpp>
#include <commensal/serve/http/money_json.hpp>

namespace commensal::http {

namespace {

using core::ErrorCode;
using core::Result;

struct AskedClaims {
  bool for_sale = false;
  core::Digest after{};
  std::size_t limit = 0;
};

Result<AskedClaims> asked_claims(const Call& call) {
  AskedClaims asked;
  const std::string for_sale = query_of(call, "for_sale");
  if (!for_sale.empty() && for_sale != "true" && for_sale != "false") {
    return core::fail(ErrorCode::kInvalidArgument, "for_sale is true or false");
  }
  asked.for_sale = for_sale == "true";
  if (const std::string after = query_of(call, "after"); !after.empty()) {
    const auto ticket = core::digest_from_hex(after);
    if (!ticket) {
      return core::fail(ErrorCode::kInvalidArgument, "after: a ticket has 64 hexadecimal digits");
    }
    asked.after = *ticket;
  }
  COMMENSAL_ASSIGN(asked.limit, count_in(call, "limit", limits::kClaimsListedMax));
  return asked;
}

struct ClaimListing {
  std::vector<core::Digest> tickets;
  std::size_t next = 0;
  std::string text = "{\"claims\":[";
};

/// One in a turn of the account's on the loop: the desk takes a moment for each provider's record.
void read_claims(const Services& services, CallPtr call, Reply reply,
                 std::shared_ptr<ClaimListing> listing) {
  if (call->left.stop_requested()) return;
  if (listing->next == listing->tickets.size()) {
    return reply(json_response(std::move(listing->text) + "]}"));
  }
  const auto claim = services.gateway.claims().claim(listing->tickets[listing->next++]);
  if (claim) {  // else it is over meanwhile
    if (listing->text.back() != '[') listing->text += ",";
    listing->text += claim_json(*claim);
  } else if (claim.error().code != ErrorCode::kNotFound) {
    return reply(error_response(claim.error()));
  }
  const std::string line = call->line;
  services.turns->post(
      line, [&services, call = std::move(call), reply = std::move(reply),
             listing = std::move(listing)] { read_claims(services, call, reply, listing); });
}

void list_claims(const Services& services, CallPtr call, Reply reply) {
  const auto asked = asked_claims(*call);
  if (!asked) return reply(error_response(asked.error()));
  const std::string line = call->line;
  services.turns->post(line, [&services, asked = *asked, call = std::move(call),
                              reply = std::move(reply)] {
    auto listing = std::make_shared<ClaimListing>();
    listing->tickets = services.gateway.claims().tickets(asked.for_sale, asked.after, asked.limit);
    read_claims(services, call, reply, std::move(listing));
  });
}

Response show_quote(gateway::Gateway& gateway, const Call& call) {
  const auto record = find_receipt(gateway, call);
  if (!record) return error_response(record.error());
  const auto quote = gateway.claims().quote(*record);
  if (!quote) return error_response(quote.error());
  return json_response(quote_json(*record, *quote));
}

constexpr std::int64_t kSmall = limits::kHttpSmallBodyBytesMax;

constexpr Route kRoutes[] = {
    {"GET", "/v1/claims", Auth::kAccount, Scope::kMoney, kSmall, list_claims},
    {"GET", "/v1/receipts/{receipt}/quote", Auth::kAccount, Scope::kMoney, kSmall,
     on_loop<show_quote>},
};

}  // namespace

std::span<const Route> claim_routes() { return kRoutes; }

}  // namespace commensal::http
