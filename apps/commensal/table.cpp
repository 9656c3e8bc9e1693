// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/table.hpp>

namespace commensal::apps {

Run declare_account(CLI::App& app);
Run declare_accuse(CLI::App& app);
Run declare_arbiter(CLI::App& app);
Run declare_audit(CLI::App& app);
Run declare_auditor(CLI::App& app);
Run declare_bench(CLI::App& app);
Run declare_calibrate(CLI::App& app);
Run declare_case(CLI::App& app);
Run declare_claim(CLI::App& app);
Run declare_config(CLI::App& app);
Run declare_explore(CLI::App& app);
Run declare_rollout(CLI::App& app);
Run declare_gateway(CLI::App& app);
Run declare_infer(CLI::App& app);
Run declare_inspect(CLI::App& app);
Run declare_key(CLI::App& app);
Run declare_ledger(CLI::App& app);
Run declare_models(CLI::App& app);
Run declare_operators(CLI::App& app);
Run declare_plan(CLI::App& app);
Run declare_probe(CLI::App& app);
Run declare_profile(CLI::App& app);
Run declare_provider(CLI::App& app);
Run declare_providers(CLI::App& app);
Run declare_push(CLI::App& app);
Run declare_receipts(CLI::App& app);
Run declare_risk(CLI::App& app);
Run declare_run(CLI::App& app);
Run declare_stake(CLI::App& app);
Run declare_tickets(CLI::App& app);
Run declare_train(CLI::App& app);
Run declare_vouch(CLI::App& app);

namespace {

constexpr std::string_view kConsumers = "Consumers";
constexpr std::string_view kProviders = "Providers";
constexpr std::string_view kOperators = "Operators, auditors, arbiters";

constexpr Command kTable[] = {
    {"push", kConsumers, "give a gateway a model", "Give a gateway a model to serve",
     "commensal push digits.onnx\n"
     "commensal push digits.onnx alice/digits --gateway http://gateway.example:8080\n"
     "commensal push digits.onnx alice/digits --card examples/digits.md\n"
     "commensal push secret.onnx --private --allow 0x52908400098527886E0F7030069857D2E4169EE7",
     declare_push},
    {"explore", kConsumers, "find a model",
     "Look for models by words, task and modality, as their owners' cards say",
     "commensal explore\n"
     "commensal explore digits --task image-classification\n"
     "commensal explore --modality image --sort used --count 5\n"
     "commensal explore --json",
     declare_explore},
    {"models", kConsumers, "list, show, change them",
     "List the models of a gateway, show, download, change or delete one",
     "commensal models\n"
     "commensal models alice/digits --save digits.onnx\n"
     "commensal models alice/digits --card\n"
     "commensal models alice/secret --allow 0x52908400098527886E0F7030069857D2E4169EE7\n"
     "commensal models alice/secret --grant bob\n"
     "commensal models alice/digits --delete\n"
     "commensal models --holders\n"
     "commensal models --json",
     declare_models},
    {"infer", kConsumers, "ask for a model's answer",
     "Ask a gateway for a model's answer, with a receipt",
     "commensal infer alice/digits examples/three.pgm\n"
     "commensal infer alice/digits --input image=eight.npy\n"
     "commensal infer alice/digits --input examples/three.pgm --softmax --top 2\n"
     "commensal infer alice/birds --input crow.jpg --image-resize crop --labels birds.txt "
     "--image-mean 123.7,116.3,103.5 --image-scale 58.4,57.1,57.4\n"
     "commensal infer alice/digits --input eight.npy --nonce-file eight.nonce\n"
     "commensal infer alice/digits --input eight.npy --privacy-class medical\n"
     "commensal infer alice/digits --input eight.npy --json",
     declare_infer},
    {"rollout", kConsumers, "feed a model its outputs",
     "Have a gateway run a model on its own outputs, step by step, and follow it",
     "commensal rollout operator/letters --state next=letter --state state_out=state\n"
     "commensal rollout alice/step --state y=x --input x=x.npy --steps 1000 --key monday\n"
     "commensal rollout alice/step --state y=x --input x=x.npy --privacy-class medical\n"
     "commensal rollout alice/step --state y=x --noise none --audit-probability 1 --json",
     declare_rollout},
    {"train", kConsumers, "train a model",
     "Train a model on this machine, or have a gateway's providers do it: the same bits",
     "commensal train digits.yaml\n"
     "commensal train digits.yaml --threads 2 --svg loss.svg --export trained.onnx\n"
     "commensal train digits.yaml --tensorboard runs/one --json\n"
     "commensal train digits.yaml --push tuned --parent alice/digits --license apache-2.0\n"
     "commensal train digits.yaml --gateway https://market.example --allow "
     "0x52908400098527886E0F7030069857D2E4169EE7",
     declare_train},
    {"providers", kConsumers, "who computes",
     "List the providers of a gateway: address, name, answers, stake, state, privacy classes",
     "commensal providers\n"
     "commensal providers --json",
     declare_providers},
    {"receipts", kConsumers, "what you were answered",
     "List the receipts of an account, show one, or save it",
     "commensal receipts --count 5\n"
     "commensal receipts RECEIPT\n"
     "commensal receipts RECEIPT --save answer.receipt --save-opening answer.opening",
     declare_receipts},
    {"accuse", kConsumers, "who answered wrongly",
     "Accuse a provider of a wrong answer, with a bond, and argue it to the end; the same again "
     "goes on with it; exit status 2 where it is acquitted",
     "commensal accuse RECEIPT --key alice.json\n"
     "commensal accuse RECEIPT --key alice.json --password-file alice.password --json",
     declare_accuse},
    {"account", kConsumers, "accounts and their money",
     "Create and list accounts, put money into them, or say whose token this is",
     "commensal account\n"
     "commensal account create alice --token-file gateway-state/operator.token --save alice.token\n"
     "commensal account deposit alice 1000000 --reference 'transfer 17'\n"
     "commensal account deposit @gateway 20000000 --reference own-1\n"
     "commensal account lock escrow 20000000\n"
     "commensal account balance alice\n"
     "commensal account token ci --scopes infer,models --expires-in 30d --save ci.token\n"
     "commensal account revoke ci\n"
     "commensal account rotate --save alice.token\n"
     "commensal account invite spring --uses 30 --credit 100000 --expires-in 7d --save "
     "spring.code\n"
     "commensal account signup carol --code-file spring.code --save carol.token\n"
     "commensal account log --count 50\n"
     "commensal account delete bob\n"
     "commensal account list --json",
     declare_account},
    {"provider", kProviders, "serve with this machine", "Serve a gateway with this machine",
     "commensal provider --gateway gateway.example:8090\n"
     "commensal provider --gateway one.example:8090,two.example:8090\n"
     "commensal provider --gateway 127.0.0.1:8090 --threads 2 --name lab-7\n"
     "commensal provider --gateway 127.0.0.1:8090 --data-dir provider-state --json\n"
     "commensal provider --gateway 127.0.0.1:8090 --stake 1000000 --pay-min 5000\n"
     "commensal provider --gateway 127.0.0.1:8090 --stake 1000000 --sell-winners 0.95\n"
     "commensal provider --gateway 127.0.0.1:8090 --privacy-statement lab-7.statement\n"
     "commensal provider --gateway 127.0.0.1:8090 --host xmrig:http://127.0.0.1:4067\n"
     "commensal provider --gateway 127.0.0.1:8090 --host auto --weight 3 --guest-memory-max 4GiB\n"
     "commensal provider status --watch\n"
     "commensal provider tune --host 'prometheus:http://127.0.0.1:9100/metrics#steps_total'\n"
     "commensal provider tune --host process:1234 model.onnx --threads 4 --json",
     declare_provider},
    {"stake", kProviders, "lock or free your stake",
     "Lock or free a provider's stake, signed with the provider's own key",
     "commensal stake --data-dir provider-state\n"
     "commensal stake announce 1000000 --data-dir provider-state\n"
     "commensal stake complete 17 --data-dir provider-state",
     declare_stake},
    {"tickets", kProviders, "what your work has won",
     "Say how tickets stand: won and lost, worth, time to the next payment",
     "commensal tickets\n"
     "commensal tickets --provider 0x9201c445a275aC0cd411C3814150831b38327C6F\n"
     "commensal tickets --data-dir provider-state --json",
     declare_tickets},
    {"claim", kProviders, "buy and sell winners",
     "Buy and sell claims: winning tickets that are not paid yet, with the risk that their answer "
     "is "
     "wrong",
     "commensal claim list\n"
     "commensal claim list --all --json\n"
     "commensal claim quote RECEIPT\n"
     "commensal claim sell TICKET --price 95000 --data-dir provider-state\n"
     "commensal claim buy TICKET --price 95000 --key alice.json --password-file alice.password",
     declare_claim},
    {"probe", kProviders, "read a host's progress",
     "Read a host's progress, as the governor does, and print it",
     "commensal probe auto\n"
     "commensal probe xmrig:http://127.0.0.1:4067 --seconds 60\n"
     "commensal probe 'log:/var/log/train.log#step (\\d+)' --every 5\n"
     "commensal probe process:1234 --seconds 5 --json",
     declare_probe},
    {"profile", kProviders, "what a busy device leaves",
     "Say what a device that reads as busy leaves unused",
     "commensal profile --kernel --device gtx-1080 --threads 1024 --registers 32 --shared 42756\n"
     "commensal profile --kernel --device a100-40 --threads 256 --registers-per-block 16384\n"
     "commensal profile --pid 4711 --seconds 10 --out host.yaml --svg host.svg\n"
     "commensal profile --list",
     declare_profile},
    {"plan", kProviders, "how guests share a device",
     "Say how guests should share a device, with a host or with each other, and why",
     "commensal plan --guest examples/collocation/small.yaml "
     "--guest examples/collocation/large.yaml\n"
     "commensal plan --host miner.yaml --guest guest.yaml --device h100-80\n"
     "commensal plan --host miner.yaml --guest a.yaml --guest b.yaml --json",
     declare_plan},
    {"bench", kProviders, "measure this machine",
     "Measure this machine: networks of the project, beside another runtime or an older build",
     "commensal bench runtime --peer onnxruntime\n"
     "commensal bench runtime --peer older/commensal --skip-load\n"
     "commensal bench runtime --threads 1 --batch 1 --models resnet18,vgg11 --skip-load\n"
     "commensal bench runtime --models-dir . --models mine --shape x=1,3,224,224\n"
     "commensal bench runtime --json",
     declare_bench},
    {"gateway", kOperators, "serve consumers",
     "Serve consumers over HTTP and hand their requests to providers",
     "commensal gateway\n"
     "commensal gateway --http 0.0.0.0:8080 --providers 0.0.0.0:8090 --data-dir gateway-state\n"
     "commensal gateway --http 0.0.0.0:443 --tls-cert fullchain.pem --tls-key privkey.pem\n"
     "commensal gateway --db postgresql://commensal@db.example/commensal --http 10.0.0.1:8080\n"
     "commensal gateway --audit-probability 0.2 --no-money\n"
     "commensal gateway --open-signup 100000\n"
     "commensal gateway --privacy-auditor medical=0x52908400098527886E0F7030069857D2E4169EE7\n"
     "commensal gateway --price 24000 --face-value 200000 --escrow 40000000 --no-test-money",
     declare_gateway},
    {"ledger", kOperators, "check and show its money",
     "Run a gateway's journal of money again, or show what everybody has",
     "commensal ledger verify --data-dir gateway-state\n"
     "commensal ledger show\n"
     "commensal ledger show --data-dir gateway-state --json",
     declare_ledger},
    {"risk", kOperators, "how far to trust a provider",
     "Show what is known of a provider, what its answers are worth, how often to audit it",
     "commensal risk PROVIDER\n"
     "commensal risk PROVIDER --loss 500 --redo-cost 20 --audit-cost 5 --explain\n"
     "commensal risk PROVIDER --data-dir gateway-state --json",
     declare_risk},
    {"case", kOperators, "who is accused of what",
     "List the accusations in a gateway's ledger, show who owes what in one, or open a nonce",
     "commensal case list\n"
     "commensal case list --party 0x9201c445a275aC0cd411C3814150831b38327C6F\n"
     "commensal case show RECEIPT --json\n"
     "commensal case disclose RECEIPT --nonce-file eight.nonce",
     declare_case},
    {"audit", kOperators, "check a receipt here",
     "Check a receipt by re-executing it here, or some elements of its outputs; trusts neither "
     "gateway nor provider; exit status 2 where it is wrong",
     "commensal audit RECEIPT\n"
     "commensal audit RECEIPT --elements 64\n"
     "commensal audit RECEIPT --wrong-share 0.01 --miss 0.05 --beside-replay\n"
     "commensal audit RECEIPT --data-dir gateway-state --backend ref\n"
     "commensal audit answer.receipt --opening answer.opening --model model.onnx",
     declare_audit},
    {"auditor", kOperators, "check what is drawn",
     "Audit what a gateway has drawn of public models' rollouts, and of answers where it admits "
     "outside auditors; what is signed is answered for with a stake",
     "commensal auditor --gateway http://127.0.0.1:8080 --token-file auditor.token",
     declare_auditor},
    {"vouch", kOperators, "who may see private data",
     "Sign that a provider may see requests of a privacy class, which it shows to its gateway",
     "commensal vouch 0x52908400098527886E0F7030069857D2E4169EE7 --class medical --until "
     "2027-01-31 "
     "--key auditor.json --save lab-7.statement",
     declare_vouch},
    {"arbiter", kOperators, "check how a dispute ended",
     "Check how a dispute ended: who was wrong, and in which operation; needs no model",
     "commensal arbiter check dispute.verdict\n"
     "commensal arbiter check dispute.verdict --json\n"
     "commensal arbiter operators",
     declare_arbiter},
    {"run", kEverybody, "run a model here",
     "Run a model once on this machine and print its outputs and their SHA-256",
     "commensal run model.onnx --input x=x.npy\n"
     "commensal run faces.onnx --input crowd.jpg --image-resize pad --image-mean 127 --json\n"
     "commensal run model.onnx --input x=x.npy --backend ref --hash",
     declare_run},
    {"inspect", kEverybody, "look into a model", "Show what a model asks for, gives and is made of",
     "commensal inspect model.onnx\n"
     "commensal inspect model.onnx --nodes\n"
     "commensal inspect model.onnx --json",
     declare_inspect},
    {"operators", kEverybody, "what models may use", "List the operators that models may use",
     "commensal operators\n"
     "commensal operators --json",
     declare_operators},
    {"calibrate", kEverybody, "the noise a model bears",
     "Find the scale of noise that a model bears, for rollouts",
     "commensal calibrate digits.onnx --data held_out_images.npy --labels held_out_labels.npy\n"
     "commensal calibrate faces.onnx --data pictures --image-mean 127 --image-scale 128\n"
     "commensal calibrate step.onnx --data x=x.npy --data h=h.npy --state h_out=h --json",
     declare_calibrate},
    {"key", kEverybody, "make and show keys",
     "Make a locked key, show its address, or lock a plain one; make a certificate",
     "commensal key new alice.json\n"
     "commensal key show alice.json --check --password-file alice.password\n"
     "commensal key certificate gateway-state --host gateway.example --host 10.0.0.1\n"
     "commensal key import provider-state/keystore.json --from provider-state/key",
     declare_key},
    {"config", kEverybody, "settings in files",
     "Show what commands are set to by files, variables and defaults",
     "commensal config show\n"
     "commensal config show gateway\n"
     "commensal config show provider --json",
     declare_config},
};

constexpr Program kProgram = {
    "commensal", "Commensal runs neural networks on busy hardware and proves the answers right.",
    COMMENSAL_VERSION, kTable, true};

}  // namespace

const Program& commensal_program() { return kProgram; }

}  // namespace commensal::apps
