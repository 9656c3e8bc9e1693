// SPDX-License-Identifier: Apache-2.0
#include <inference/grpc_service.pb.h>

#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/oip_grpc/encoding.hpp>
#include <commensal/serve/oip_grpc/methods.hpp>

namespace commensal::oip_grpc {

namespace {

using gateway::Scope;
using oip::Auth;

void live(Request, Reply reply) {
  inference::ServerLiveResponse response;
  response.set_live(true);
  reply(encode(response));
}

constexpr std::string_view kService = "/inference.GRPCInferenceService/";
constexpr std::int64_t kSmall = limits::kHttpSmallBodyBytesMax;
constexpr std::int64_t kLarge = limits::kHttpBodyBytesMax;

constexpr Method kMethods[] = {
    {"ServerLive", Auth::kNone, Scope::kAny, false, kSmall, live},
    {"ServerReady", Auth::kNone, Scope::kAny, false, kSmall, server_ready},
    {"ModelReady", Auth::kOptional, Scope::kAny, false, kSmall, model_ready},
    {"ServerMetadata", Auth::kNone, Scope::kAny, false, kSmall, server_metadata},
    {"ModelMetadata", Auth::kOptional, Scope::kAny, false, kSmall, model_metadata},
    {"ModelInfer", Auth::kAccount, Scope::kInfer, false, kLarge, infer},
    {"ModelStreamInfer", Auth::kAccount, Scope::kInfer, true, kLarge, stream_infer},
    {"ModelConfig", Auth::kOptional, Scope::kAny, false, kSmall, model_config},
    {"ModelStatistics", Auth::kOptional, Scope::kAny, false, kSmall, model_statistics},
    {"RepositoryIndex", Auth::kOptional, Scope::kAny, false, kSmall, repository_index},
    {"RepositoryModelLoad", Auth::kAccount, Scope::kModels, false, limits::kConfigBytesMax,
     load_model},
    {"RepositoryModelUnload", Auth::kAccount, Scope::kModels, false, kSmall, unload_model},
    {"SystemSharedMemoryStatus", Auth::kAccount, Scope::kInfer, false, kSmall,
     system_memory_status},
    {"SystemSharedMemoryRegister", Auth::kAccount, Scope::kInfer, false, kSmall,
     register_system_memory},
    {"SystemSharedMemoryUnregister", Auth::kAccount, Scope::kInfer, false, kSmall,
     unregister_system_memory},
    {"CudaSharedMemoryStatus", Auth::kAccount, Scope::kInfer, false, kSmall, cuda_memory_status},
    {"CudaSharedMemoryRegister", Auth::kAccount, Scope::kInfer, false, kSmall,
     register_cuda_memory},
    {"CudaSharedMemoryUnregister", Auth::kAccount, Scope::kInfer, false, kSmall,
     unregister_cuda_memory},
    {"TraceSetting", Auth::kOptional, Scope::kAny, false, kSmall, trace_settings},
    {"LogSettings", Auth::kOptional, Scope::kAny, false, kSmall, log_settings},
};

}  // namespace

std::span<const Method> all_methods() { return kMethods; }

const Method* find_method(std::string_view name) {
  if (!name.starts_with(kService)) return nullptr;
  name.remove_prefix(kService.size());
  const auto* const found = std::ranges::find(kMethods, name, &Method::name);
  return found == std::end(kMethods) ? nullptr : found;
}

}  // namespace commensal::oip_grpc
