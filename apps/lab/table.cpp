// SPDX-License-Identifier: Apache-2.0
#include <apps/lab/table.hpp>

namespace commensal::apps {

Run declare_attack(CLI::App& app);
Run declare_cheat(CLI::App& app);
Run declare_conformance(CLI::App& app);
Run declare_demo(CLI::App& app);
Run declare_hostile(CLI::App& app);
Run declare_lab_bench(CLI::App& app);
Run declare_lab_rollout(CLI::App& app);
Run declare_trace(CLI::App& app);

namespace {

constexpr std::string_view kAttacksAndSimulations = "Attacks and simulations";
constexpr std::string_view kMeasurements = "Measurements";

constexpr Command kTable[] = {
    {"demo", kAttacksAndSimulations, "a market that has a cheat",
     "Run a gateway, two honest providers and a cheat on this machine, and catch the cheat",
     "commensal-lab demo\n"
     "commensal-lab demo --json report.json\n"
     "commensal-lab demo --requests 100 --audit-probability 0.5",
     declare_demo},
    {"attack", kAttacksAndSimulations, "let adversaries try it",
     "Let adversaries attack protocol, ledger and verification, each defence on and off; exit "
     "status 2 if a bar is missed",
     "commensal-lab attack --all --trials 200\n"
     "commensal-lab attack garbage smaller-model --trials 1000 --seed 7 --json\n"
     "commensal-lab attack --list",
     declare_attack},
    {"hostile", kAttacksAndSimulations, "attack daemons on the wire",
     "Attack a gateway and its providers, as programs, while honest consumers use them; exit "
     "status "
     "2 if a bar is missed",
     "commensal-lab hostile --all --seconds 600 --json\n"
     "commensal-lab hostile slowloris commits-twice --seconds 20\n"
     "commensal-lab hostile --list",
     declare_hostile},
    {"cheat", kAttacksAndSimulations, "a provider that lies",
     "Serve a gateway as a provider that computes in bfloat16, or lies about trainings, and stands "
     "by it, until it is stopped",
     "commensal-lab cheat --gateway 127.0.0.1:8090 --data-dir cheat-state --stake 1000000\n"
     "commensal-lab cheat --gateway 127.0.0.1:8090 --lie skipped-step --lie-from 2",
     declare_cheat},
    {"rollout", kAttacksAndSimulations, "all parties of one rollout",
     "Compute a rollout with all its parties in this process: provider, cheats, auditor, arbiter",
     "commensal-lab rollout letters.onnx --state next=letter --state state_out=state --steps 1000\n"
     "commensal-lab rollout step.onnx --state y=x --input x=x.npy --data-dir rollout-state\n"
     "commensal-lab rollout step.onnx --state y=x --noise none --audit-probability 1 --json\n"
     "commensal-lab rollout step.onnx --state y=x --cheat 17=weight --keep-going",
     declare_lab_rollout},
    {"bench", kMeasurements, "this project's own bars",
     "Measure what this project promises: tickets, ledger, verification, hosts and guests",
     "commensal-lab bench tickets --json\n"
     "commensal-lab bench verify --rounds 5\n"
     "commensal-lab bench segments --rounds 5\n"
     "commensal-lab bench collocation --quick\n"
     "commensal-lab bench guests --svg guests.svg\n"
     "commensal-lab bench processes --json\n"
     "commensal-lab bench operators --peer onnxruntime --json\n"
     "commensal-lab bench operators --quick --threads 1,2\n"
     "commensal-lab bench promise --trace miner.jsonl --json\n"
     "commensal-lab bench serve --concurrency 1,64 --json\n"
     "commensal-lab bench train --json",
     declare_lab_bench},
    {"trace", kMeasurements, "record how a host works",
     "Record what a host's probe says, for `commensal-lab bench promise`",
     "commensal-lab trace xmrig:http://127.0.0.1:4067 --seconds 3600 -o miner.jsonl\n"
     "commensal-lab trace process:1234 --seconds 60",
     declare_trace},
    {"conformance", kMeasurements, "ONNX's backend tests", "Run the ONNX project's backend tests",
     "commensal-lab conformance onnx/backend/test/data/node\n"
     "commensal-lab conformance onnx/backend/test/data --filter '*conv*' --backend ref\n"
     "commensal-lab conformance onnx/backend/test/data --json",
     declare_conformance},
};

constexpr Program kProgram = {"commensal-lab",
                              "The laboratory of Commensal: attacks, simulations, measurements.",
                              COMMENSAL_VERSION, kTable};

}  // namespace

const Program& lab_program() { return kProgram; }

}  // namespace commensal::apps
