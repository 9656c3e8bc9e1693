// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/gateway/invitations.hpp>
#include <commensal/serve/gateway/tokens.hpp>

namespace commensal::gateway {

namespace {

using core::ErrorCode;

constexpr std::string_view kSpace = "invitations";           // label -> record
constexpr std::string_view kCodeSpace = "invitation_codes";  // SHA-256 of a code -> label

core::Bytes bytes_of(core::ByteView view) { return {view.begin(), view.end()}; }
core::Bytes key_of(std::string_view label) { return bytes_of(core::as_bytes(label)); }

void add_end(const Invitation& one, core::Store::Batch& batch) {
  batch.push_back({std::string(kSpace), key_of(one.label), {}});
  batch.push_back({std::string(kCodeSpace), bytes_of(one.code_hash), {}});
}

}  // namespace

bool Invitations::is_over(const Invitation& one) const {
  return one.uses_left == 0 || (one.expires_ms != 0 && clock_.wall_ms() >= one.expires_ms);
}

core::Result<core::Store::Batch> Invitations::room_for(const std::string& label) {
  COMMENSAL_ASSIGN(const std::vector<Invitation> there, list());
  core::Store::Batch batch;
  std::size_t kept = 0;
  for (const Invitation& one : there) {
    if (is_over(one) && (one.label == label || there.size() >= limits::kInvitationsMax)) {
      add_end(one, batch);
      continue;
    }
    ++kept;
    if (one.label == label)
      return core::fail(ErrorCode::kAlreadyExists, "there is an invitation '{}'", label);
  }
  if (kept < limits::kInvitationsMax) return batch;
  return core::fail(ErrorCode::kResourceExhausted,
                    "there are {} invitations, the most that are kept: end one first", kept);
}

core::Result<std::string> Invitations::make(const Invitation& terms) {
  if (!is_label(terms.label))
    return core::fail(ErrorCode::kInvalidArgument, "an invitation's label is {}", kLabelRule);
  Invitation made = terms;
  made.made_ms = clock_.wall_ms();
  if (is_over(made))
    return core::fail(ErrorCode::kInvalidArgument,
                      "an invitation has one use at least, and expires in the future");
  COMMENSAL_ASSIGN(core::Store::Batch batch, room_for(terms.label));
  std::string code = core::to_hex(rng_.next_digest());
  made.code_hash = crypto::sha256(core::as_bytes(code));
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(made));
  batch.push_back({std::string(kSpace), key_of(made.label), std::move(row)});
  batch.push_back({std::string(kCodeSpace), bytes_of(made.code_hash), key_of(made.label)});
  COMMENSAL_TRY(store_.apply(batch));
  return code;
}

core::Result<std::vector<Invitation>> Invitations::list() {
  std::vector<Invitation> all;
  core::Result<void> status;
  COMMENSAL_TRY(store_.scan(kSpace, {}, [&](core::ByteView, core::ByteView value) {
    auto one = protocol::decode_stored<Invitation>(value);
    if (!one) {
      status = tl::unexpected(std::move(one).error());
      return false;
    }
    all.push_back(*std::move(one));
    return true;
  }));
  COMMENSAL_TRY(status);
  return all;
}

core::Result<void> Invitations::end(const std::string& label) {
  COMMENSAL_ASSIGN(const auto row, store_.get(kSpace, core::as_bytes(label)));
  if (!row)
    return core::fail(ErrorCode::kNotFound, "unknown invitation '{}'",
                      label.substr(0, limits::kNameBytesMax));
  COMMENSAL_ASSIGN(const Invitation there, protocol::decode_stored<Invitation>(*row));
  core::Store::Batch batch;
  add_end(there, batch);
  return store_.apply(batch);
}

core::Result<Invitations::Use> Invitations::use(std::string_view code) {
  const auto refuse = [](std::string_view why) {
    return core::fail(ErrorCode::kPermissionDenied, "the invitation {}: ask for another", why);
  };
  const core::Digest hash = crypto::sha256(core::as_bytes(code));
  COMMENSAL_ASSIGN(const auto label, store_.get(kCodeSpace, hash));
  if (!label) return refuse("is unknown");
  COMMENSAL_ASSIGN(const auto row, store_.get(kSpace, *label));
  if (!row) return refuse("is unknown");
  COMMENSAL_ASSIGN(Invitation there, protocol::decode_stored<Invitation>(*row));
  if (there.uses_left == 0) return refuse("is used up");
  if (is_over(there)) return refuse("has expired");
  --there.uses_left;
  COMMENSAL_ASSIGN(core::Bytes less, protocol::encode_stored(there));
  Use use{.credit = there.credit, .writes = {}};
  use.writes.push_back({std::string(kSpace), *label, std::move(less)});
  return use;
}

}  // namespace commensal::gateway
