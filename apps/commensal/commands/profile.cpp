// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <apps/commensal/profile_live.hpp>
#include <apps/common/command.hpp>
#include <commensal/base/chart/bars.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/collocation/planner/occupancy.hpp>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using Json = nlohmann::ordered_json;

struct ProfileArguments {
  bool kernel = false;
  bool lists = false;
  std::string device;
  int threads = 0;
  int registers_per_thread = 0;
  int registers_per_block = 0;
  int shared_bytes = 0;
  bool gpu = false;
  LiveProfile live;
  std::string svg;
  bool json = false;
};

Json json_of(const planner::Device& device) {
  const planner::Architecture& on = device.architecture;
  return {{"name", device.name},
          {"architecture", on.name},
          {"compute_capability", fmt::format("{}.{}", on.major, on.minor)},
          {"multiprocessors", device.multiprocessors},
          {"memory_gib", device.memory_gib},
          {"threads", on.threads},
          {"blocks", on.blocks},
          {"registers", on.registers},
          {"shared_bytes", on.shared_bytes}};
}

void list_devices(bool json) {
  Json list = Json::array();
  if (!json) {
    fmt::print("{:<12} {:<8} {:>4} {:>5} {:>8} {:>8} {:>7} {:>10} {:>13}\n", "device", "kind", "cc",
               "SMs", "GB", "threads", "blocks", "registers", "shared bytes");
  }
  for (const planner::Device& device : planner::devices()) {
    const planner::Architecture& on = device.architecture;
    list.push_back(json_of(device));
    if (json) continue;
    fmt::print("{:<12} {:<8} {:>2}.{} {:>5} {:>8g} {:>8} {:>7} {:>10} {:>13}\n", device.name,
               on.name, on.major, on.minor, device.multiprocessors, device.memory_gib, on.threads,
               on.blocks, on.registers, on.shared_bytes);
  }
  fmt::print("{}\n", json ? list.dump(2) : "(SMs: multiprocessors; what follows GB: of one)");
}

Result<planner::Kernel> kernel_of(const ProfileArguments& options) {
  if (options.threads <= 0) {
    return fail(ErrorCode::kInvalidArgument, "--threads (of a block) is expected");
  }
  if ((options.registers_per_thread > 0) == (options.registers_per_block > 0)) {
    return fail(ErrorCode::kInvalidArgument,
                "either --registers (of a thread) or --registers-per-block is expected");
  }
  const int registers = options.registers_per_thread > 0
                            ? options.registers_per_thread
                            : (options.registers_per_block - 1) / options.threads + 1;
  return planner::Kernel{options.threads, registers, options.shared_bytes};
}

Json report(const planner::Device& device, const planner::Kernel& kernel,
            const planner::Occupancy& found) {
  Json resources = Json::array();
  for (const planner::Resource& one : found.resources) {
    resources.push_back({{"name", one.name},
                         {"room_for_blocks", one.blocks},
                         {"used", one.used},
                         {"left", 1 - one.used}});
  }
  return {{"device", json_of(device)},
          {"kernel",
           {{"threads", kernel.threads},
            {"registers_per_thread", kernel.registers_per_thread},
            {"shared_bytes", kernel.shared_bytes}}},
          {"blocks", found.blocks},
          {"occupancy", found.occupancy},
          {"limits", found.limits()},
          {"resources", resources}};
}

std::string heading(const planner::Device& device, const planner::Kernel& kernel) {
  return fmt::format(
      "{} threads, {} registers and {} bytes of shared memory a block on {} ({} {}.{})",
      kernel.threads, kernel.threads * kernel.registers_per_thread, kernel.shared_bytes,
      device.name, device.architecture.name, device.architecture.major, device.architecture.minor);
}

std::string conclusion(const planner::Occupancy& found) {
  return fmt::format("{} block{} resident; occupancy {:.0f} %; limited by {}", found.blocks,
                     found.blocks == 1 ? "" : "s", 100 * found.occupancy,
                     fmt::join(found.limits(), ", "));
}

void print_table(const planner::Device& device, const planner::Kernel& kernel,
                 const planner::Occupancy& found) {
  fmt::print("{}\n\n{:<16} {:>16} {:>8} {:>8}\n", heading(device, kernel), "of one SM",
             "room for blocks", "used", "left");
  for (const planner::Resource& one : found.resources) {
    fmt::print("{:<16} {:>16} {:>6.1f} % {:>6.1f} %\n", one.name, one.blocks, 100 * one.used,
               100 * (1 - one.used));
  }
  fmt::print("\n{}\n", conclusion(found));
}

Result<void> write_chart(const core::Path& path, const planner::Device& device,
                         const planner::Kernel& kernel, const planner::Occupancy& found) {
  std::vector<chart::Bar> bars{{"warps (occupancy)", found.occupancy, ""}};
  for (const planner::Resource& one : found.resources) {
    const bool is_limit = one.blocks == found.blocks;
    bars.push_back({std::string(one.name), one.used,
                    fmt::format("room for {}{}", one.blocks, is_limit ? ": the limit" : "")});
  }
  const std::string svg =
      chart::bars_svg(fmt::format("What one multiprocessor of {} has left", device.name),
                      heading(device, kernel), bars);
  return core::save_for_user(path, core::as_bytes(svg));
}

Result<int> profile_kernel(const ProfileArguments& options) {
  const planner::Device* device = planner::find_device(options.device);
  if (device == nullptr) {
    return fail(ErrorCode::kNotFound, "no device '{}'; --list prints them", options.device);
  }
  COMMENSAL_ASSIGN(const planner::Kernel kernel, kernel_of(options));
  COMMENSAL_ASSIGN(const planner::Occupancy found,
                   planner::occupancy_of(kernel, device->architecture));
  if (!options.svg.empty()) COMMENSAL_TRY(write_chart(options.svg, *device, kernel, found));
  if (options.json) {
    fmt::print("{}\n", report(*device, kernel, found).dump(2));
  } else {
    print_table(*device, kernel, found);
  }
  return 0;
}

Result<int> run(const ProfileArguments& options) {
  if (options.lists) {
    list_devices(options.json);
    return 0;
  }
  const int asked =
      (options.kernel ? 1 : 0) + (options.live.pid > 0 ? 1 : 0) + (options.gpu ? 1 : 0);
  if (asked != 1) {
    return fail(ErrorCode::kInvalidArgument,
                "one of --kernel, --pid, --gpu and --list is expected");
  }
  if (options.kernel) return profile_kernel(options);
  LiveProfile live = options.live;
  live.svg = options.svg;
  live.json = options.json;
  const core::SystemClock clock;
  return options.gpu ? profile_gpu(live) : profile_process(live, clock);
}

}  // namespace

Run declare_profile(CLI::App& app) {
  const auto options = std::make_shared<ProfileArguments>();
  app.add_flag("--kernel", options->kernel, "Of a CUDA kernel: occupancy, and what limits it");
  app.add_option("--device", options->device, "The device that the kernel runs on");
  app.add_option("--threads", options->threads, "Threads of a block")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--registers", options->registers_per_thread, "32-bit registers of a thread")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--registers-per-block", options->registers_per_block,
                 "32-bit registers of a block, instead")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--shared", options->shared_bytes, "Bytes of shared memory of a block")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str();
  app.add_option("--pid", options->live.pid, "Of a process of this machine")
      ->check(CLI::Range(1, 1 << 30));
  app.add_flag("--gpu", options->gpu, "Of a GPU, as far as its driver tells");
  app.add_option("--index", options->live.gpu, "Which GPU")
      ->check(CLI::Range(0, 1023))
      ->capture_default_str();
  app.add_option("--seconds", options->live.seconds, "How long to look")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  app.add_option("--out", options->live.out,
                 "Write a process's profile for 'commensal plan' (YAML)");
  app.add_option("--svg", options->svg, "Write a bar chart of what is used and left");
  app.add_flag("--list", options->lists, "List the devices");
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return run(*options); };
}

}  // namespace commensal::apps
