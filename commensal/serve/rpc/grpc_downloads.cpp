// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/places.hpp>
#include <commensal/serve/rpc/grpc_order.hpp>
#include <commensal/serve/rpc/grpc_server_stream.hpp>
#include <commensal/serve/rpc/grpc_status.hpp>
#include <utility>

namespace commensal::rpc {
namespace {

constexpr std::size_t kChunkBytes = 1 << 20;

void look_later(const std::shared_ptr<ServerHall>& hall, const std::weak_ptr<Fetch>& fetch) {
  hall->loop.after(limits::kRpcLookMs, [hall, fetch] {
    const auto still = fetch.lock();
    if (!still) return;
    hall->fetches.look(*still);
    look_later(hall, fetch);
  });
}

}  // namespace

std::shared_ptr<Fetch> Fetches::begin(const std::string& session, const Peer& from) {
  const std::lock_guard lock(mutex_);
  const auto theirs =
      std::ranges::count_if(all_, [&](const auto& one) { return one->session == session; });
  if (std::cmp_greater_equal(theirs, limits::kFetchesOfOneMax)) return nullptr;
  if (all_.size() >= limits::kFetchesMax) {
    std::vector<core::Place> places;
    for (const auto& one : all_) {
      places.push_back({.party = one->network, .since_ns = std::ssize(places)});
    }
    const auto leaves = core::who_leaves(places);
    door_->end(all_[*leaves]->connection);
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(*leaves));
  }
  return all_.emplace_back(new Fetch{session, from.network, from.connection});
}

void Fetches::look(Fetch& fetch) {
  const std::uint64_t chunks = fetch.chunks;
  if (std::exchange(fetch.seen, chunks) == chunks) door_->end(fetch.connection);
}

void Fetches::end(const std::shared_ptr<Fetch>& fetch) {
  const std::lock_guard lock(mutex_);
  std::erase(all_, fetch);
}

ModelStream::ModelStream(std::shared_ptr<ServerHall> hall, GatewayPort& models,
                         grpc::CallbackServerContext* context)
    : hall_(std::move(hall)),
      models_(models),
      context_(context),
      from_(peer_of(context->peer(), *hall_->door)) {
  hand_to_grpc(&request_);
  StartRead(&request_);
}

core::Result<std::string> ModelStream::path() const {
  protocol::Reader reader(core::as_bytes(request_.model()), "model");
  core::Digest model;
  read(reader, model);
  COMMENSAL_TRY(reader.finish());
  return models_.model_path(request_.session_token(), model,
                            peer_key_hash(*context_->auth_context()));
}

core::Result<void> ModelStream::begin() {
  COMMENSAL_ASSIGN(const std::string file, path());
  fetch_ = hall_->fetches.begin(request_.session_token(), from_);
  if (!fetch_) {
    return core::fail(core::ErrorCode::kResourceExhausted,
                      "{} models are being fetched already: one after the other",
                      limits::kFetchesOfOneMax);
  }
  hall_->door->vouch(from_.connection);
  file_.open(file, std::ios::binary);
  return {};
}

void ModelStream::OnReadDone(bool ok) {
  take_from_grpc(&request_);
  if (!ok) return finish({grpc::StatusCode::INVALID_ARGUMENT, "no model is asked for"});
  if (const auto begun = begin(); !begun) return finish(to_status(begun.error()));
  hall_->loop.post([hall = hall_, fetch = std::weak_ptr(fetch_)] { look_later(hall, fetch); });
  write_next();
}

void ModelStream::write_next() {
  if (const auto still = path(); !still) return finish(to_status(still.error()));
  std::string& data = *chunk_.mutable_data();
  data.resize(kChunkBytes);
  const bool sound = file_.is_open() && !file_.bad();
  if (sound) file_.read(data.data(), static_cast<std::streamsize>(data.size()));
  data.resize(sound ? static_cast<std::size_t>(file_.gcount()) : 0);
  if (!sound || file_.bad()) {
    finish({grpc::StatusCode::DATA_LOSS, "the model's file cannot be read"});
  } else if (data.empty()) {
    finish(grpc::Status::OK);
  } else {
    hand_to_grpc(&chunk_);
    StartWrite(&chunk_);
  }
}

void ModelStream::OnWriteDone(bool ok) {
  take_from_grpc(&chunk_);
  if (!ok) return finish(grpc::Status::CANCELLED);
  ++fetch_->chunks;
  write_next();
}

void ModelStream::finish(const grpc::Status& status) {
  hand_to_grpc(&chunk_);
  Finish(status);
}

// gRPC was the only owner.
void ModelStream::OnDone() {
  take_from_grpc(&chunk_);
  if (fetch_) {
    hall_->fetches.end(fetch_);
    hall_->door->disown(from_.connection);
  }
  delete this;
}

}  // namespace commensal::rpc
