// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_chains.hpp>
#include <commensal/serve/provider/chains.hpp>

namespace commensal::provider {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

rpc::ChainCommit word_of(const core::Digest& chain, const chain::Commit& made) {
  return {chain, made.step, made.commitment, made.round, made.signature};
}

/// The receipt of the last link so far, its client's signature perhaps missing.
protocol::Receipt receipt_of(const chain::ChainProvider& provider) {
  const chain::LinkRecord& link = provider.last();
  return {provider.job(),  link.step,          link.body.commitment,
          link.body.round, link.body.provider, link.body.client};
}

}  // namespace

Result<void> Chains::open() {
  COMMENSAL_ASSIGN(kept_, chain::count_chains(world_.store));
  return {};
}

void Chains::refuse(const core::Digest& chain, core::Error reason) {
  world_.gateway.send(rpc::ChainRefuse{chain, std::move(reason)});
}

Result<void> Chains::accept(const protocol::Job& job) const {
  if (job.provider != world_.key.address()) {
    return fail(ErrorCode::kFailedPrecondition, "the job names another provider, {}",
                crypto::to_text(job.provider));
  }
  return world_.purse.accept(job);
}

/// Whoever has not been asked for longest can be taken up again.
Result<void> Chains::make_room() {
  if (live_.size() < limits::kChainsLiveMax) return {};
  auto oldest = live_.end();
  for (auto item = live_.begin(); item != live_.end(); ++item) {
    if (item->second->is_busy) continue;
    if (oldest == live_.end() || item->second->used < oldest->second->used) oldest = item;
  }
  if (oldest == live_.end()) {
    return fail(ErrorCode::kUnavailable, "{} chains are at work, no more at a time", live_.size());
  }
  live_.erase(oldest);
  return {};
}

Result<Chains::Engine> Chains::engine_for(const rpc::ChainStart& start, const std::string& token,
                                          const core::Path& path) {
  const auto found = std::ranges::find_if(loaded_, [&](const Loaded& item) {
    return item.model == start.model && item.feeds == start.job.feeds;
  });
  if (found != loaded_.end()) {
    loaded_.splice(loaded_.begin(), loaded_, found);
    return loaded_.front().engine;
  }
  if (!std::filesystem::exists(path)) {
    COMMENSAL_TRY(world_.gateway.fetch_model(token, start.model, path.string()));
  }
  COMMENSAL_ASSIGN(auto engine, world_.engines.load_chain(path, start.job.feeds));
  if (loaded_.size() >= limits::kEnginesMax) loaded_.pop_back();
  loaded_.push_front({start.model, start.job.feeds, std::move(engine)});
  return loaded_.front().engine;
}

void Chains::handle(rpc::ChainStart message) {
  const core::Digest id = protocol::job_id(message.job);
  if (const auto found = live_.find(id); found != live_.end()) {
    if (found->second->is_busy) {
      found->second->is_asked_again = true;
    } else {
      world_.gateway.send(rpc::ChainReady{id});
    }
    return;
  }
  auto accepted = accept(message.job);
  if (accepted) accepted = make_room();
  if (!accepted) {
    // What was begun may go on later: the gateway has yet to draw a round, say.
    const auto is_known = chain::ChainRows(world_.store, id).is_there();
    const bool is_passing = is_known && *is_known;
    return refuse(id, {is_passing ? ErrorCode::kUnavailable : accepted.error().code,
                       accepted.error().message});
  }
  const auto live = std::make_shared<Live>();
  live->id = id;
  live->used = ++uses_;
  live_.emplace(id, live);
  struct Work {
    rpc::ChainStart start;
    Result<Engine> engine;
  };
  const auto work = std::make_shared<Work>(Work{std::move(message), Engine()});
  world_.loop.offload(
      [this, work, token = world_.session_token(), path = world_.cache.path_of(work->start.model)] {
        work->engine = engine_for(work->start, token, path);
      },
      [this, work, live, generation = generation_, alive = std::weak_ptr(alive_)] {
        if (alive.expired()) return;
        world_.cache.touch(work->start.model);
        Result<void> opened;
        if (work->engine) {
          live->engine = *std::move(work->engine);
          opened = open_chain(*live, work->start);
        } else {
          opened = tl::unexpected(work->engine.error());
        }
        if (!opened) {
          live_.erase(live->id);
          return refuse(live->id, opened.error());
        }
        if (generation == generation_) live->is_asked_again = true;
        after_work(*live);
      });
}

Result<void> Chains::open_chain(Live& live, const rpc::ChainStart& start) {
  const chain::ChainProvider::World world{world_.store, world_.rng, world_.key, *live.engine};
  COMMENSAL_ASSIGN(const bool is_known, chain::ChainRows(world_.store, live.id).is_there());
  if (is_known) {
    COMMENSAL_ASSIGN(auto loaded, chain::ChainProvider::load(world, live.id));
    live.provider.emplace(std::move(loaded));
    if (!at_work_.contains(live.id)) live.excused = live.provider->last().step;
    return {};
  }
  if (kept_ >= limits::kChainsKeptMax) {
    return fail(ErrorCode::kResourceExhausted, "the provider keeps {} chains, its limit", kept_);
  }
  COMMENSAL_ASSIGN(auto started,
                   chain::ChainProvider::start(world, {start.job, start.input_salt, start.inputs}));
  live.provider.emplace(std::move(started));
  ++kept_;
  return {};
}

void Chains::after_work(Live& live) {
  live.is_busy = false;
  if (std::exchange(live.is_asked_again, false)) world_.gateway.send(rpc::ChainReady{live.id});
}

Chains::LivePtr Chains::at_hand(const core::Digest& chain) {
  const auto found = live_.find(chain);
  if (found == live_.end()) {
    refuse(chain, {ErrorCode::kUnavailable, "the chain is not at hand: start it"});
    return nullptr;
  }
  if (found->second->is_busy) {
    refuse(chain, {ErrorCode::kUnavailable, "the chain is at work"});
    return nullptr;
  }
  found->second->used = ++uses_;
  return found->second;
}

void Chains::handle(const rpc::ChainBegin& message) {
  const LivePtr live = at_hand(message.chain);
  if (live == nullptr) return;
  const chain::Begin begin{message.link, message.value};
  const auto made = live->provider->asked(begin);
  if (!made) return refuse(message.chain, made.error());
  if (*made) return repeat(*live, **made);
  live->is_busy = true;
  const auto outputs = std::make_shared<Result<chain::Values>>();
  world_.loop.offload(
      [live, begin, outputs] { *outputs = live->provider->compute(begin); },
      [this, live, begin, outputs, generation = generation_, alive = std::weak_ptr(alive_)] {
        if (alive.expired()) return;
        Result<chain::Commit> committed = chain::Commit();
        if (*outputs) committed = commit(*live, begin, **std::move(outputs));
        if (!*outputs) committed = tl::unexpected(outputs->error());
        // What failed to be written is in memory, and must not be said.
        if (!committed) live_.erase(live->id);
        if (generation == generation_ && !live->is_asked_again) {
          if (!committed) refuse(live->id, committed.error());
          if (committed) world_.gateway.send(word_of(live->id, *committed));
        }
        after_work(*live);
      });
}

/// The client has not signed it, perhaps for so long that its round is closed: then the link earns
/// no ticket, and too many of those are refused.
void Chains::repeat(Live& live, const chain::Commit& made) {
  const std::uint64_t next = world_.purse.round_for(live.provider->job());
  const bool is_late = made.round != protocol::kNoDraw && made.round + 2 <= next;
  if (!is_late) return world_.gateway.send(word_of(live.id, made));
  chain::Commit again;
  const auto signed_again = world_.store.together([&]() -> Result<void> {
    COMMENSAL_TRY(note_late(live));
    COMMENSAL_ASSIGN(again, live.provider->sign_again(protocol::kNoDraw));
    return {};
  });
  if (!signed_again) return refuse(live.id, signed_again.error());
  world_.gateway.send(word_of(live.id, again));
}

Result<void> Chains::note_late(const Live& live) {
  const std::uint64_t step = live.provider->last().step;
  if (step == live.excused) return {};
  const auto noted = late_.add(world_.purse.gateway(), limits::kLateLinksMax + live_.size());
  return noted ? noted : core::in_context(fmt::format("link {}", step), noted.error());
}

Result<chain::Commit> Chains::commit(Live& live, const chain::Begin& begin, chain::Values outputs) {
  chain::Commit made;
  COMMENSAL_TRY(world_.store.together([&]() -> Result<void> {
    chain::ChainProvider& provider = *live.provider;
    at_work_.insert(live.id);
    COMMENSAL_ASSIGN(
        made, provider.commit(begin, world_.purse.round_for(provider.job()), std::move(outputs)));
    const ticket::NewTicket ticket{receipt_of(provider),
                                   receipt::state_root(provider.last().outputs),
                                   provider.last().output_salt};
    return world_.purse.commit({&ticket, 1});
  }));
  return made;
}

/// A signature that comes after its round was drawn: the ticket is void, and the link is late.
Result<chain::Deliver> Chains::countersign(Live& live, const chain::Countersign& message) {
  const chain::LinkRecord& link = live.provider->last();
  const bool is_first = link.phase == chain::LinkPhase::kCommitted && message.step == link.step &&
                        link.body.round != protocol::kNoDraw;
  const ticket::Record* const ticket =
      is_first ? world_.purse.tickets().find(protocol::ticket_id(receipt_of(*live.provider).body()))
               : nullptr;
  const bool counts = ticket != nullptr && ticket->state == ticket::State::kCommitted;
  if (is_first && !counts) COMMENSAL_TRY(note_late(live));
  COMMENSAL_ASSIGN(chain::Deliver made, live.provider->countersign(message));
  if (!counts) return made;
  const protocol::Receipt receipt = receipt_of(*live.provider);
  COMMENSAL_TRY(world_.purse.countersign({&receipt, 1}));
  COMMENSAL_TRY(late_.in_time(world_.purse.gateway()));
  return made;
}

void Chains::handle(const rpc::ChainCountersign& message) {
  const LivePtr live = at_hand(message.chain);
  if (live == nullptr) return;
  chain::Deliver made;
  const auto saved = world_.store.together([&]() -> Result<void> {
    COMMENSAL_ASSIGN(made, countersign(*live, {message.link, message.signature}));
    return {};
  });
  if (!saved) {
    live_.erase(message.chain);
    return refuse(message.chain, saved.error());
  }
  world_.gateway.send(
      rpc::ChainDeliver{message.chain, made.step, made.output_salt, std::move(made.outputs)});
}

}  // namespace commensal::provider
