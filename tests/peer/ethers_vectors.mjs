// SPDX-License-Identifier: Apache-2.0
// What npm's ethers makes of our EIP-712 types, keys and keystores:
//   node ethers_vectors.mjs FILE          writes FILE (tests/vectors/ethers.json)
//   node ethers_vectors.mjs --check FILE  exits with 1 unless FILE is what it would write
// and unless it unlocks the keystore that `commensal key new` made (keystore/ours.json).
// Exit status 77 where ethers is not installed.
import {createHash} from 'node:crypto';
import {readFileSync, writeFileSync} from 'node:fs';

let ethers;
try {
  ({ethers} = await import('ethers'));
} catch {
  console.error('ethers is not installed: npm ci --ignore-scripts in tests/peer');
  process.exit(77);
}

const h = (text) => '0x' + createHash('sha256').update(text).digest('hex');
const wallets = ['provider', 'client', 'auditor'].map((name) => new ethers.Wallet(h(name)));
const [provider, client, auditor] = wallets;

// The Merkle root of one leaf: the body of a receipt.
const vectorsUrl = new URL('../vectors/', import.meta.url);
const [{bodies}] = JSON.parse(readFileSync(new URL('protocol/receipt.json', vectorsUrl)));
const leaf = h(Buffer.concat([Buffer.of(0), Buffer.from(bodies[0], 'hex')]));

// Each type once, with the words that every signature of ours is made of.
const messages = {
  ReceiptBatch: [provider, [['string', 'role'], ['bytes32', 'root'], ['uint64', 'count']],
                 {role: 'provider', root: leaf, count: 1}],
  Verdict: [auditor,
            [['bytes32', 'receiptId'], ['uint8', 'outcome'], ['address', 'auditor'],
             ['bytes32', 'expectedCommitment'], ['bytes32', 'recomputedCommitment'],
             ['string', 'reason']],
            {receiptId: h('receipt'), outcome: 1, auditor: auditor.address,
             expectedCommitment: h('c'), recomputedCommitment: h('d'),
             reason: 'other bits: 12 \u2260 13'}],
  HashChainHead: [client,
                  [['address', 'owner'], ['bytes32', 'anchor'], ['uint64', 'first'],
                   ['uint64', 'rounds']],
                  {owner: client.address, anchor: h('anchor'), first: 7, rounds: 2 ** 25}],
  Endorsement: [provider,
                [['bytes32', 'ticket'], ['uint64', 'index'], ['address', 'from'],
                 ['address', 'to']],
                {ticket: h('ticket'), index: 3, from: provider.address, to: auditor.address}],
  JointSettlement: [client,
                    [['bytes32', 'ticket'], ['address', 'client'], ['address', 'holder'],
                     ['uint256', 'toHolder'], ['uint256', 'toClient']],
                    {ticket: h('ticket'), client: client.address, holder: provider.address,
                     toHolder: (2n ** 128n - 1n).toString(), toClient: '10000000000000000000000'}],
};

async function signed(name, [wallet, members, value], chainId) {
  const domain = {name: 'Commensal', version: '1', chainId};
  const types = {[name]: members.map(([type, member]) => ({type, name: member}))};
  return {type: name, chain_id: chainId, signer: wallet.address, value,
          digest: ethers.TypedDataEncoder.hash(domain, types, value),
          signature: await wallet.signTypedData(domain, types, value)};
}

// Scrypt of 2^12 is quick to open in a test. Salt, iv and id are fixed, so that the file is too.
function keystore(wallet, password) {
  return ethers.encryptKeystoreJsonSync(
      {address: wallet.address, privateKey: wallet.privateKey}, password,
      {scrypt: {N: 4096, r: 8, p: 1}, salt: h('salt'), iv: h('iv').slice(0, 34),
       uuid: h('uuid').slice(0, 34)});
}

async function vectors() {
  const typed = [];
  for (const chainId of [0, 1, 31337]) {
    for (const [name, message] of Object.entries(messages)) {
      typed.push(await signed(name, message, chainId));
    }
  }
  return {
    made_by: `ethers ${ethers.version}`,
    keys: wallets.map((wallet) => ({secret: wallet.privateKey, address: wallet.address})),
    typed,
    keystores: wallets.map((wallet) => ({
      password: 'correct horse', address: wallet.address,
      text: keystore(wallet, 'correct horse'),
    })),
  };
}

async function unlocksOurs() {
  const text = readFileSync(new URL('keystore/ours.json', vectorsUrl), 'utf8');
  const {address} = await ethers.decryptKeystoreJson(text, 'correct horse');
  return address === ethers.getAddress(JSON.parse(text).address);
}

function fail(why) {
  console.error(why);
  process.exit(1);
}

const [option, file] = process.argv.slice(2);
const made = JSON.stringify(await vectors(), null, 1) + '\n';
if (option !== '--check') {
  writeFileSync(option, made);
} else {
  if (readFileSync(file, 'utf8') !== made) fail(`${file} is not what ethers makes`);
  if (!await unlocksOurs()) fail('our keystore opens to another address than it claims');
}
