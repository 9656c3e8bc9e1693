// SPDX-License-Identifier: Apache-2.0
// What a driver would answer, by the file that COMMENSAL_NVML_RECORD names: a line for each call,
// "FUNCTION GPU RETURN VALUES...". A call that the file does not have is not supported.
#include <commensal/collocation/probe/nvml_api.hpp>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace api = commensal::probe::nvml;

namespace {

struct Answer {
  api::Return result = api::kNotSupported;
  std::vector<std::string> values{};

  double number(std::size_t i) const { return i < values.size() ? std::stod(values[i]) : 0; }
  unsigned long long whole(std::size_t i) const {
    return i < values.size() ? std::stoull(values[i]) : 0;
  }
};

using Record = std::map<std::pair<std::string, unsigned>, Answer>;

Record& record() {
  static Record made;
  return made;
}

unsigned index_of(api::Handle gpu) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(gpu) - 1);
}

Answer answer(const char* function, api::Handle gpu = reinterpret_cast<api::Handle>(1)) {
  const auto it = record().find({function, index_of(gpu)});
  return it == record().end() ? Answer() : it->second;
}

api::Return put_text(const Answer& said, char* text, unsigned size) {
  if (said.result != api::kSuccess) return said.result;
  std::string joined;
  for (const std::string& word : said.values) joined += (joined.empty() ? "" : " ") + word;
  std::strncpy(text, joined.c_str(), size);
  return said.result;
}

template <class T>
api::Return put(const Answer& said, T* value) {
  if (said.result == api::kSuccess) *value = static_cast<T>(said.whole(0));
  return said.result;
}

}  // namespace

extern "C" {

api::Return nvmlInit_v2() {
  record().clear();
  const char* path = std::getenv("COMMENSAL_NVML_RECORD");
  std::ifstream file(path == nullptr ? "" : path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string function;
    unsigned gpu = 0;
    Answer said;
    if (line.empty() || line[0] == '#' || !(words >> function >> gpu >> said.result)) continue;
    for (std::string word; words >> word;) said.values.push_back(word);
    record()[{function, gpu}] = said;
  }
  return answer("init").result;
}
api::Return nvmlShutdown() { return api::kSuccess; }
api::Return nvmlDeviceGetCount_v2(unsigned* count) { return put(answer("count"), count); }
api::Return nvmlDeviceGetHandleByIndex_v2(unsigned index, api::Handle* gpu) {
  *gpu = reinterpret_cast<api::Handle>(std::uintptr_t{index} + 1);
  const Answer said = answer("handle", *gpu);
  return said.result;
}
api::Return nvmlDeviceGetName(api::Handle gpu, char* text, unsigned size) {
  return put_text(answer("name", gpu), text, size);
}
api::Return nvmlDeviceGetUUID(api::Handle gpu, char* text, unsigned size) {
  return put_text(answer("uuid", gpu), text, size);
}
api::Return nvmlDeviceGetUtilizationRates(api::Handle gpu, api::Utilization* made) {
  const Answer said = answer("utilization", gpu);
  *made = {static_cast<unsigned>(said.whole(0)), static_cast<unsigned>(said.whole(1))};
  return said.result;
}
api::Return nvmlDeviceGetMemoryInfo(api::Handle gpu, api::Memory* made) {
  const Answer said = answer("memory", gpu);
  *made = {said.whole(0), said.whole(1), said.whole(2)};
  return said.result;
}
api::Return nvmlDeviceGetClockInfo(api::Handle gpu, unsigned which, unsigned* mhz) {
  return put(answer(which == api::kSm ? "sm_clock" : "memory_clock", gpu), mhz);
}
api::Return nvmlDeviceGetCurrentClocksThrottleReasons(api::Handle gpu, unsigned long long* bits) {
  return put(answer("reasons", gpu), bits);
}
api::Return nvmlDeviceGetPowerUsage(api::Handle gpu, unsigned* mw) {
  return put(answer("power", gpu), mw);
}
api::Return nvmlDeviceGetComputeRunningProcesses_v3(api::Handle gpu, unsigned* size,
                                                    api::ProcessInfo* list) {
  const Answer said = answer("processes", gpu);
  if (said.result != api::kSuccess) return said.result;
  const auto count = static_cast<unsigned>(said.values.size() / 2);
  const bool fits = count <= *size;
  *size = count;
  for (unsigned i = 0; fits && i < count; ++i)
    list[i] = {static_cast<unsigned>(said.whole(2 * i)), said.whole(2 * i + 1), ~0U, ~0U};
  return fits ? api::kSuccess : api::kInsufficientSize;
}

#ifndef NVML_IS_OLD
api::Return nvmlDeviceGetTotalEnergyConsumption(api::Handle gpu, unsigned long long* mj) {
  return put(answer("energy", gpu), mj);
}
api::Return nvmlDeviceGetMigMode(api::Handle gpu, unsigned* now, unsigned* later) {
  *later = 0;
  return put(answer("mig", gpu), now);
}
api::Return nvmlGpmQueryDeviceSupport(api::Handle gpu, api::GpmSupport* support) {
  return put(answer("gpm", gpu), &support->is_supported);
}
api::Return nvmlGpmSampleAlloc(api::GpmSample* sample) {
  *sample = reinterpret_cast<api::GpmSample>(new api::Handle{});
  return api::kSuccess;
}
api::Return nvmlGpmSampleFree(api::GpmSample sample) {
  delete reinterpret_cast<api::Handle*>(sample);
  return api::kSuccess;
}
api::Return nvmlGpmSampleGet(api::Handle gpu, api::GpmSample sample) {
  *reinterpret_cast<api::Handle*>(sample) = gpu;
  return api::kSuccess;
}
api::Return nvmlGpmMetricsGet(api::GpmMetrics* metrics) {
  const api::Handle gpu = *reinterpret_cast<api::Handle*>(metrics->first);
  if (metrics->version != 1 || gpu != *reinterpret_cast<api::Handle*>(metrics->second)) return 2;
  for (unsigned i = 0; i < metrics->count; ++i) {
    const Answer said = answer(("gpm_" + std::to_string(metrics->metrics[i].id)).c_str(), gpu);
    metrics->metrics[i].result = said.result;
    metrics->metrics[i].value = said.number(0);
  }
  return api::kSuccess;
}
#endif

}  // extern "C"
