// SPDX-License-Identifier: Apache-2.0
#include <apps/command.hpp>

namespace commensal::apps {

Run declare_conformance(CLI::App& app);
Run declare_inspect(CLI::App& app);
Run declare_run(CLI::App& app);

namespace {

constexpr Command kTable[] = {
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
