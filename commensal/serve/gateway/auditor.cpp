// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/serve/gateway/auditor.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <list>

namespace commensal::gateway {

/// The part that runs off the loop: the sessions that were used last.
struct Auditor::Replayer {
  struct Loaded {
    core::Digest model;
    graph::Session session;
    receipt::ModelRoots roots;
  };
  std::list<Loaded> loaded;  // youngest first

  core::Result<Loaded*> model_at(const core::Digest& model, const core::Path& path) {
    const auto found = std::find_if(loaded.begin(), loaded.end(),
                                    [&](const Loaded& item) { return item.model == model; });
    if (found != loaded.end()) {
      loaded.splice(loaded.begin(), loaded, found);
      return &loaded.front();
    }
    COMMENSAL_ASSIGN(const auto graph, graph::onnx::import_file(path));
    COMMENSAL_ASSIGN(auto session, graph::Session::create(graph, {}));
    if (loaded.size() >= limits::kEnginesMax) loaded.pop_back();
    loaded.push_front({model, std::move(session), receipt::model_roots(*graph)});
    return &loaded.front();
  }

  core::Result<core::Digest> replay(const receipt::AuditTask& task, const core::Digest& model,
                                    const core::Path& path) {
    COMMENSAL_ASSIGN(Loaded* const ready, model_at(model, path));
    return receipt::replay(task, ready->session, ready->roots);
  }
};

Auditor::Auditor(core::Loop& loop, const crypto::SecretKey& key, const Roster& roster,
                 const ModelHub& hub, std::int64_t opening_ms_max, Own own, Done done)
    : loop_(loop),
      key_(key),
      roster_(roster),
      hub_(hub),
      opening_ms_max_(opening_ms_max),
      own_(std::move(own)),
      done_(std::move(done)),
      replayer_(std::make_shared<Replayer>()) {}

Auditor::~Auditor() = default;

void Auditor::request(const ReceiptRecord& record) {
  const auto opening = receipt::decode_opening(record.opening);
  core::check(opening.has_value(), "a stored opening decodes");
  const auto [item, is_new] =
      cases_.try_emplace(record.id(), Case{.body = record.receipt.body(),
                                           .provider = record.receipt.job.provider,
                                           .model = record.model_content,
                                           .output_salt = opening->output_salt});
  if (is_new) ask(*item);
}

void Auditor::ask(Cases::value_type& item) {
  rpc::ProviderLink* const link = roster_.connected(item.second.provider);
  if (link == nullptr) return;
  link->send(rpc::OpenRequest{item.first});
  loop_.after(opening_ms_max_,
              [this, id = item.first, asked = ++item.second.asked, alive = std::weak_ptr(alive_)] {
                if (alive.expired()) return;
                const auto found = cases_.find(id);
                if (found == cases_.end() || found->second.opened || found->second.asked != asked)
                  return;
                if (roster_.connected(found->second.provider) == nullptr) return;
                conclude(id, receipt::judge_unavailable(
                                 found->second.body,
                                 fmt::format("not opened within {} ms", opening_ms_max_), key_));
              });
}

void Auditor::on_connected(const crypto::Address& provider) {
  for (auto& item : cases_) {
    if (item.second.provider == provider && !item.second.opened) ask(item);
  }
}

void Auditor::on_open_reply(const crypto::Address& provider, const rpc::OpenReply& reply) {
  const auto found = cases_.find(reply.receipt);
  if (found == cases_.end() || found->second.opened || found->second.provider != provider) return;
  Case& item = found->second;
  const auto refuse = [&](std::string why) {
    conclude(reply.receipt, receipt::judge_unavailable(item.body, std::move(why), key_));
  };
  if (!reply.opening) return refuse("the provider no longer has the opening");
  auto opening = receipt::decode_opening(*reply.opening);
  if (!opening) return refuse(opening.error().message);
  if (!opening->has_tensors()) {
    auto own = own_(reply.receipt);
    if (!own) return conclude(reply.receipt, tl::unexpected(own.error()));
    opening->inputs = std::move(own->inputs);
    opening->outputs = std::move(own->outputs);
  }
  if (auto fits = receipt::check_opening(*opening, item.body); !fits) {
    return refuse(fits.error().message);
  }
  item.opened = true;
  auto task = std::make_shared<receipt::AuditTask>(
      receipt::AuditTask{std::move(opening->job), opening->input_salt, std::move(opening->inputs)});
  auto root = std::make_shared<core::Result<core::Digest>>();
  loop_.offload([replayer = replayer_, task, root, model = item.model,
                 path = hub_.path_of(item.model)] { *root = replayer->replay(*task, model, path); },
                [this, root, id = reply.receipt, alive = std::weak_ptr(alive_)] {
                  if (alive.expired()) return;
                  const auto open_case = cases_.find(id);
                  if (open_case == cases_.end()) return;
                  const Case& ready = open_case->second;
                  if (!*root) return conclude(id, tl::unexpected(root->error()));
                  conclude(id, receipt::judge(ready.body, **root, ready.output_salt, key_));
                });
}

void Auditor::conclude(core::Digest receipt, core::Result<protocol::Verdict> verdict) {
  cases_.erase(receipt);
  done_(receipt, std::move(verdict));
}

std::size_t Auditor::pending() const {
  return static_cast<std::size_t>(
      std::count_if(cases_.begin(), cases_.end(), [this](const Cases::value_type& item) {
        return item.second.opened || roster_.connected(item.second.provider) != nullptr;
      }));
}

}  // namespace commensal::gateway
