// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/oip/admission.hpp>
#include <commensal/serve/oip/services.hpp>
#include <functional>
#include <memory>
#include <string>

/// What the Open Inference Protocol and Triton's extensions of it say of the server, its models and
/// its settings, inference apart: one method each, whatever it is encoded in.
namespace commensal::oip {

/// "" and 0 where the method or the question has none of it.
struct Question {
  std::string model = {};     // as asked: "owner/model", or an alias
  std::uint32_t version = 0;  // 0: the newest
  std::string region = {};    // of shared memory
  std::string body = {};      // JSON, as REST has it
  std::string after = {};     // of lists: what was told
};
/// JSON, as REST has it; "": nothing is said.
using Answer = std::function<void(core::Result<std::string>)>;

/// Finds its own way to the loop and back: `answer` is called once, on any thread. `asker` lives
/// until then. Errors: of the questions.
using Method = void (*)(const Services& services, std::shared_ptr<Asker> asker, Question question,
                        Answer answer);

/// Runs `write`, which writes out the model and holds `asker` until it has: off the loop, and what
/// is long in its account's line, whose memory it counts as.
void post_writing(const Services& services, const std::shared_ptr<Asker>& asker,
                  const gateway::ModelVersion& model, Task write);

void server_metadata(const Services&, std::shared_ptr<Asker>, Question, Answer);
void server_ready(const Services&, std::shared_ptr<Asker>, Question, Answer);
void model_ready(const Services&, std::shared_ptr<Asker>, Question, Answer);
void model_metadata(const Services&, std::shared_ptr<Asker>, Question, Answer);
void model_config(const Services&, std::shared_ptr<Asker>, Question, Answer);
void model_statistics(const Services&, std::shared_ptr<Asker>, Question, Answer);
void repository_index(const Services&, std::shared_ptr<Asker>, Question, Answer);
void load_model(const Services&, std::shared_ptr<Asker>, Question, Answer);
void unload_model(const Services&, std::shared_ptr<Asker>, Question, Answer);
void system_memory_status(const Services&, std::shared_ptr<Asker>, Question, Answer);
void register_system_memory(const Services&, std::shared_ptr<Asker>, Question, Answer);
void unregister_system_memory(const Services&, std::shared_ptr<Asker>, Question, Answer);
void cuda_memory_status(const Services&, std::shared_ptr<Asker>, Question, Answer);
void register_cuda_memory(const Services&, std::shared_ptr<Asker>, Question, Answer);
void unregister_cuda_memory(const Services&, std::shared_ptr<Asker>, Question, Answer);
void trace_settings(const Services&, std::shared_ptr<Asker>, Question, Answer);
void log_settings(const Services&, std::shared_ptr<Asker>, Question, Answer);

}  // namespace commensal::oip
