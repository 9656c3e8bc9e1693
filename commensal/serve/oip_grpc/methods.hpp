// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/serve/http2/call.hpp>
#include <commensal/serve/oip/admission.hpp>
#include <commensal/serve/oip/services.hpp>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string_view>

/// What is called; for this room's own sources only.
namespace commensal::oip_grpc {

/// Called once, on any thread.
using Reply = std::function<void(core::Result<http2::Message>)>;

/// One request under way; its asker's `left` is asked to stop where nobody waits for the answer.
struct Request {
  const oip::Services& services;
  std::shared_ptr<oip::Asker> asker;
  http2::Message message;
};

struct Method {
  std::string_view name;  // "ModelInfer"
  oip::Auth auth;
  gateway::Scope scope;
  bool is_stream;  // many requests, each with its answer
  std::int64_t bytes_max;
  void (*run)(Request request, Reply reply);
};

/// By "/inference.GRPCInferenceService/ModelInfer"; null where there is none.
const Method* find_method(std::string_view name);
std::span<const Method> all_methods();

// infer.cpp
void infer(Request request, Reply reply);
/// The same, its answer in a message of a stream; what goes wrong too.
void stream_infer(Request request, Reply reply);

// management.cpp
void server_ready(Request request, Reply reply);
void model_ready(Request request, Reply reply);
void server_metadata(Request request, Reply reply);
void model_metadata(Request request, Reply reply);
void model_config(Request request, Reply reply);
void model_statistics(Request request, Reply reply);
void repository_index(Request request, Reply reply);
void load_model(Request request, Reply reply);
void unload_model(Request request, Reply reply);
void system_memory_status(Request request, Reply reply);
void register_system_memory(Request request, Reply reply);
void unregister_system_memory(Request request, Reply reply);
void cuda_memory_status(Request request, Reply reply);
void register_cuda_memory(Request request, Reply reply);
void unregister_cuda_memory(Request request, Reply reply);
void trace_settings(Request request, Reply reply);
void log_settings(Request request, Reply reply);

}  // namespace commensal::oip_grpc
