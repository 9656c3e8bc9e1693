// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <commensal/collocation/probe/gpu.hpp>
#include <commensal/collocation/probe/nvml_api.hpp>

namespace commensal::probe {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
namespace api = nvml;

constexpr unsigned kGpusMax = 256;
constexpr unsigned kProcessesMax = 4096;
constexpr double kPercentMax = 100;

/// The functions; nullptr where the driver is older or newer than they are.
struct Functions {
  api::Return (*init)();
  api::Return (*shutdown)();
  api::Return (*count)(unsigned*);
  api::Return (*handle)(unsigned, api::Handle*);
  api::Return (*name)(api::Handle, char*, unsigned);
  api::Return (*uuid)(api::Handle, char*, unsigned);
  api::Return (*utilization)(api::Handle, api::Utilization*);
  api::Return (*memory)(api::Handle, api::Memory*);
  api::Return (*clock)(api::Handle, unsigned, unsigned*);
  api::Return (*reasons)(api::Handle, unsigned long long*);
  api::Return (*power)(api::Handle, unsigned*);
  api::Return (*energy)(api::Handle, unsigned long long*);
  api::Return (*mig)(api::Handle, unsigned*, unsigned*);
  api::Return (*processes)(api::Handle, unsigned*, api::ProcessInfo*);
  api::Return (*gpm_support)(api::Handle, api::GpmSupport*);
  api::Return (*gpm_alloc)(api::GpmSample*);
  api::Return (*gpm_free)(api::GpmSample);
  api::Return (*gpm_get)(api::Handle, api::GpmSample);
  api::Return (*gpm_metrics)(api::GpmMetrics*);
};

/// Each function by the first of its names that the library has.
template <class F>
void find(void* library, F*& function, std::initializer_list<const char*> names) {
  function = nullptr;
  for (const char* name : names) {
    if (function == nullptr) function = reinterpret_cast<F*>(dlsym(library, name));
  }
}

Functions functions_of(void* library) {
  Functions f{};
  find(library, f.init, {"nvmlInit_v2"});
  find(library, f.shutdown, {"nvmlShutdown"});
  find(library, f.count, {"nvmlDeviceGetCount_v2"});
  find(library, f.handle, {"nvmlDeviceGetHandleByIndex_v2"});
  find(library, f.name, {"nvmlDeviceGetName"});
  find(library, f.uuid, {"nvmlDeviceGetUUID"});
  find(library, f.utilization, {"nvmlDeviceGetUtilizationRates"});
  find(library, f.memory, {"nvmlDeviceGetMemoryInfo"});
  find(library, f.clock, {"nvmlDeviceGetClockInfo"});
  find(library, f.reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  find(library, f.power, {"nvmlDeviceGetPowerUsage"});
  find(library, f.energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  find(library, f.mig, {"nvmlDeviceGetMigMode"});
  find(library, f.processes, {"nvmlDeviceGetComputeRunningProcesses_v3"});
  find(library, f.gpm_support, {"nvmlGpmQueryDeviceSupport"});
  find(library, f.gpm_alloc, {"nvmlGpmSampleAlloc"});
  find(library, f.gpm_free, {"nvmlGpmSampleFree"});
  find(library, f.gpm_get, {"nvmlGpmSampleGet"});
  find(library, f.gpm_metrics, {"nvmlGpmMetricsGet"});
  return f;
}

/// Calls a function if there is one.
template <class F, class... Args>
bool works(F* function, Args... args) {
  return function != nullptr && function(args...) == api::kSuccess;
}

std::optional<double> share(double percent) {
  if (!(percent >= 0 && percent <= kPercentMax)) return std::nullopt;  // NaN too
  return percent / kPercentMax;
}

/// The two newest samples of one card; how GPM measures between looks.
struct Gpm {
  bool is_supported = false;
  bool has_last = false;
  api::GpmSample last = nullptr;
  api::GpmSample next = nullptr;
};

class NvmlGpus final : public Gpus {
 public:
  NvmlGpus(void* library, const Functions& functions, unsigned count)
      : library_(library), f_(functions), gpm_(count) {
    for (unsigned i = 0; i < count; ++i) start_gpm(i);
  }
  NvmlGpus(const NvmlGpus&) = delete;
  NvmlGpus& operator=(const NvmlGpus&) = delete;
  ~NvmlGpus() override {
    for (const Gpm& gpm : gpm_) {
      if (gpm.last != nullptr) (void)f_.gpm_free(gpm.last);
      if (gpm.next != nullptr) (void)f_.gpm_free(gpm.next);
    }
    (void)works(f_.shutdown);
    (void)dlclose(library_);
  }

  unsigned count() const override { return static_cast<unsigned>(gpm_.size()); }

  Result<GpuReading> read(unsigned index) override {
    if (index >= count()) return fail(ErrorCode::kNotFound, "there is no GPU {}", index);
    api::Handle gpu = nullptr;
    if (!works(f_.handle, index, &gpu))
      return fail(ErrorCode::kUnavailable, "GPU {} does not answer", index);
    GpuReading made;
    made.name = text(f_.name, gpu);
    made.uuid = text(f_.uuid, gpu);
    read_load(gpu, made);
    read_power(gpu, made);
    read_processes(gpu, made);
    read_gpm(gpu, gpm_[index], made);
    return made;
  }

  bool is_throttled(unsigned index) override {
    api::Handle gpu = nullptr;
    unsigned long long reasons = 0;
    return works(f_.handle, index, &gpu) && works(f_.reasons, gpu, &reasons) &&
           is_throttling(reasons);
  }

 private:
  static std::string text(api::Return (*function)(api::Handle, char*, unsigned), api::Handle gpu) {
    std::array<char, 128> buffer{};
    if (!works(function, gpu, buffer.data(), unsigned{buffer.size() - 1})) return "";
    return buffer.data();
  }

  void read_load(api::Handle gpu, GpuReading& made) const {
    if (api::Utilization u{}; works(f_.utilization, gpu, &u)) {
      made.busy = share(u.gpu);
      made.memory_busy = share(u.memory);
    }
    if (api::Memory m{}; works(f_.memory, gpu, &m) && m.used <= m.total) {
      made.memory_total_bytes = m.total;
      made.memory_used_bytes = m.used;
    }
    if (unsigned mhz = 0; works(f_.clock, gpu, unsigned{api::kSm}, &mhz)) made.sm_clock_mhz = mhz;
    if (unsigned mhz = 0; works(f_.clock, gpu, unsigned{api::kMemory}, &mhz))
      made.memory_clock_mhz = mhz;
    if (unsigned now = 0, later = 0; works(f_.mig, gpu, &now, &later)) made.has_mig = now == 1;
  }

  void read_power(api::Handle gpu, GpuReading& made) const {
    if (unsigned long long bits = 0; works(f_.reasons, gpu, &bits)) made.clock_reasons = bits;
    if (unsigned mw = 0; works(f_.power, gpu, &mw)) made.power_w = mw * 1e-3;
    if (unsigned long long mj = 0; works(f_.energy, gpu, &mj))
      made.energy_j = static_cast<double>(mj) * 1e-3;
  }

  void read_processes(api::Handle gpu, GpuReading& made) const {
    if (f_.processes == nullptr) return;
    std::vector<api::ProcessInfo> list(64);
    auto size = static_cast<unsigned>(list.size());
    api::Return done = f_.processes(gpu, &size, list.data());
    if (done == api::kInsufficientSize && size <= kProcessesMax) {
      list.resize(size + 64);  // some may have come meanwhile
      size = static_cast<unsigned>(list.size());
      done = f_.processes(gpu, &size, list.data());
    }
    if (done != api::kSuccess || size > list.size()) return;
    made.processes.emplace();
    for (unsigned i = 0; i < size; ++i) {
      const bool is_known = list[i].used_bytes != ~0ULL;
      made.processes->push_back({list[i].pid, is_known
                                                  ? std::optional<std::uint64_t>(list[i].used_bytes)
                                                  : std::nullopt});
    }
  }

  void start_gpm(unsigned index) {
    api::Handle gpu = nullptr;
    api::GpmSupport support{1, 0};
    Gpm& gpm = gpm_[index];
    if (f_.gpm_free == nullptr || f_.gpm_get == nullptr || f_.gpm_metrics == nullptr) return;
    if (!works(f_.handle, index, &gpu) || !works(f_.gpm_support, gpu, &support)) return;
    gpm.is_supported = support.is_supported == 1 && works(f_.gpm_alloc, &gpm.last) &&
                       works(f_.gpm_alloc, &gpm.next);
  }

  void read_gpm(api::Handle gpu, Gpm& gpm, GpuReading& made) const {
    if (!gpm.is_supported || !works(f_.gpm_get, gpu, gpm.next)) return;
    if (gpm.has_last) {
      api::GpmMetrics metrics{};
      metrics.version = 1;
      metrics.count = 3;
      metrics.first = gpm.last;
      metrics.second = gpm.next;
      metrics.metrics[0].id = api::kSmUtil;
      metrics.metrics[1].id = api::kSmOccupancy;
      metrics.metrics[2].id = api::kDramBandwidth;
      if (works(f_.gpm_metrics, &metrics)) {
        std::optional<double>* const to[] = {&made.sm_active, &made.sm_occupancy,
                                             &made.dram_active};
        for (unsigned i = 0; i < 3; ++i) {
          if (metrics.metrics[i].result == api::kSuccess) *to[i] = share(metrics.metrics[i].value);
        }
      }
    }
    std::swap(gpm.last, gpm.next);
    gpm.has_last = true;
  }

  void* library_;
  Functions f_;
  std::vector<Gpm> gpm_;
};

}  // namespace

bool is_throttling(std::uint64_t reasons) {
  constexpr std::uint64_t kLimits = api::kSoftwarePowerCap | api::kHardwareSlowdown |
                                    api::kSoftwareThermal | api::kHardwareThermal |
                                    api::kPowerBrake;
  return (reasons & kLimits) != 0;
}

std::vector<std::string_view> names_of_reasons(std::uint64_t reasons) {
  constexpr std::pair<std::uint64_t, std::string_view> kNames[] = {
      {api::kIdle, "idle"},
      {api::kApplicationClocks, "application clocks"},
      {api::kSoftwarePowerCap, "power cap"},
      {api::kHardwareSlowdown, "hardware slowdown"},
      {api::kSyncBoost, "sync boost"},
      {api::kSoftwareThermal, "heat"},
      {api::kHardwareThermal, "heat (hardware)"},
      {api::kPowerBrake, "power brake"},
      {api::kDisplayClocks, "display clocks"}};
  std::vector<std::string_view> names;
  for (const auto& [bit, name] : kNames) {
    if ((reasons & bit) != 0) names.push_back(name);
  }
  return names;
}

Result<std::unique_ptr<Gpus>> open_nvml(std::string_view library) {
  const std::string name(library);
  void* const loaded = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) return fail(ErrorCode::kUnavailable, "no NVIDIA driver: no {}", library);
  const Functions functions = functions_of(loaded);
  unsigned count = 0;
  const auto refuse = [&](std::string_view why) {
    (void)dlclose(loaded);
    return fail(ErrorCode::kUnavailable, "{} {}", library, why);
  };
  if (functions.init == nullptr || functions.count == nullptr || functions.handle == nullptr)
    return refuse("is no NVML");
  if (const api::Return done = functions.init(); done != api::kSuccess)
    return refuse(fmt::format("does not start: NVML's error {}", done));
  if (!works(functions.count, &count) || count > kGpusMax) {
    (void)works(functions.shutdown);
    return refuse("does not count its GPUs");
  }
  return std::make_unique<NvmlGpus>(loaded, functions, count);
}

}  // namespace commensal::probe
