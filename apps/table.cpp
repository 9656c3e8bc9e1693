// SPDX-License-Identifier: Apache-2.0
#include <apps/command.hpp>

namespace commensal::apps {

Run declare_audit(CLI::App& app);
Run declare_conformance(CLI::App& app);
Run declare_demo(CLI::App& app);
Run declare_gateway(CLI::App& app);
Run declare_inspect(CLI::App& app);
Run declare_provider(CLI::App& app);
Run declare_run(CLI::App& app);

namespace {

constexpr Command kTable[] = {
    {"demo", "Run a gateway, two honest providers and a cheat on this machine, and catch the cheat",
     "commensal demo\n"
     "commensal demo --json report.json\n"
     "commensal demo --requests 100 --audit-probability 0.5",
     declare_demo},
    {"gateway", "Serve consumers over HTTP and hand their requests to providers",
     "commensal gateway\n"
     "commensal gateway --http 0.0.0.0:8080 --link 0.0.0.0:8090 --folder gateway-state\n"
     "commensal gateway --audit-probability 0.01",
     declare_gateway},
    {"provider", "Serve a gateway with this machine",
     "commensal provider --gateway gateway.example:8090\n"
     "commensal provider --gateway 127.0.0.1:8090 --threads 2 --name lab-7\n"
     "commensal provider --gateway 127.0.0.1:8090 --folder provider-state --json",
     declare_provider},
    {"audit", "Check a receipt by re-executing it here; trusts neither gateway nor provider",
     "commensal audit RECEIPT\n"
     "commensal audit RECEIPT --state gateway-state --backend ref\n"
     "commensal audit answer.receipt --opening answer.opening --model model.onnx",
     declare_audit},
    {"run", "Run a model once on this machine and print its outputs and their SHA-256",
     "commensal run model.onnx --input x=x.npy\n"
     "commensal run faces.onnx --input crowd.jpg --image-mean 127 --image-scale 128 --json\n"
     "commensal run model.onnx --input x=x.npy --backend ref --hash",
     declare_run},
    {"inspect", "Show what a model asks for, gives and is made of",
     "commensal inspect model.onnx\n"
     "commensal inspect model.onnx --nodes\n"
     "commensal inspect model.onnx --json",
     declare_inspect},
    {"conformance", "Run the ONNX project's backend tests",
     "commensal conformance onnx/backend/test/data/node\n"
     "commensal conformance onnx/backend/test/data --filter '*conv*' --backend ref\n"
     "commensal conformance onnx/backend/test/data --json",
     declare_conformance},
};

}  // namespace

std::span<const Command> command_table() { return kTable; }

}  // namespace commensal::apps
