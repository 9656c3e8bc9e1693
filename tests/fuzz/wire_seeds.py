# SPDX-License-Identifier: Apache-2.0
"""Seeds of what comes off the wire, for make_seeds.py."""
import subprocess

from seed_files import ROOT, put


def link_seeds():
    digest, signature = "11" * 32, "22" * 65

    def raw(text):
        return '"' + "".join(f"\\x{text[i:i + 2]}" for i in range(0, len(text), 2)) + '"'
    tensor = '{name: "x" dtype: 1 dims: 2 data: "12345678"}'
    d = raw(digest)
    at, sign = f"chain: {d} link: 7", f"signature: {raw(signature)}"
    messages = {
        "challenge": (0, f"challenge {{nonce: {raw(digest)}}}"),
        "welcome": (0, f"welcome {{session_token: {raw(digest)}}}"),
        "task": (0, f"task {{id: 7 model: {raw(digest)} input_salt: {raw(digest)} "
                    f"inputs {tensor}}}"),
        "countersign": (0, f"countersign {{items {{task: 7 signature: {raw(signature)}}}}}"),
        "open_request": (0, f"open_request {{receipt: {raw(digest)}}}"),
        "hello": (1, f'hello {{name: "p" version: "1" address: {raw("33" * 20)} '
                     f"signature: {raw(signature)} cached_models: {raw(digest)} threads: 4}}"),
        "load": (1, f"load {{queued: 1 cached_models: {raw(digest)}}}"),
        "deliver": (1, f"deliver {{task: 7 output_salt: {raw(digest)} outputs {tensor}}}"),
        "refuse": (1, 'refuse {task: 7 reason {code: ERROR_CODE_NOT_FOUND message: "no"}}'),
        "chain_start": (0, f"chain_start {{model: {d} input_salt: {d} inputs {tensor}}}"),
        "chain_begin": (0, f"chain_begin {{{at} value: {d}}}"),
        "chain_countersign": (0, f"chain_countersign {{{at} {sign}}}"),
        "chain_ready": (1, f"chain_ready {{chain: {d}}}"),
        "chain_commit": (1, f"chain_commit {{{at} commitment: {d} round: 3 {sign}}}"),
        "chain_deliver": (1, f"chain_deliver {{{at} output_salt: {d} outputs {tensor}}}"),
        "chain_refuse": (1, f"chain_refuse {{chain: {d} reason {{code: ERROR_CODE_NOT_FOUND}}}}"),
        "open_reply": (1, f'open_reply {{receipt: {raw(digest)} opening: "bytes"}}'),
    }
    for name, (side, text) in messages.items():
        kind = ("GatewayMessage", "ProviderMessage")[side]
        made = subprocess.run(
            ["protoc", f"--encode=commensal.v1.{kind}", f"-I{ROOT}/proto",
             "commensal/v1/link.proto"], input=text.encode(), capture_output=True, check=True)
        put("link", name, bytes([side]) + made.stdout)


def http_seeds():
    def request(body, fields=""):
        return (f"POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\n{fields}"
                f"Content-Length: {len(body)}\r\n\r\n").encode() + body
    one = b'{"inputs":[{"name":"x","shape":[2],"datatype":"FP32","data":[1,2.5e0]}]}'
    put("http", "json", request(one))
    put("http", "many", request(
        b'{"id":"a\\u00e9","parameters":{"binary_data_output":true},"inputs":['
        b'{"name":"n","shape":[1,2],"datatype":"INT64","data":[[-1,9223372036854775807]]},'
        b'{"name":"b","shape":[2],"datatype":"BOOL","data":[true,false]}],'
        b'"outputs":[{"name":"y","parameters":{"binary_data":false}}]}'))
    head = (b'{"inputs":[{"name":"x","shape":[2],"datatype":"BF16",'
            b'"parameters":{"binary_data_size":4}}]}')
    put("http", "binary", request(head + b"\1\2\3\4",
                                  f"Inference-Header-Content-Length: {len(head)}\r\n"))
    chain = (b'{"model":"a/m","steps":9,"feeds":[["y","x"]],"noise":12,"states":"movable",'
             b'"audit_probability":1e-2,"key":"k",' + head[1:])
    put("http", "chain", request(chain + b"\1\2\3\4",
                                 f"Inference-Header-Content-Length: {len(chain)}\r\n"))
    put("http", "root", request(b'{"root":"' + b"7f" * 32 + b'"}'))
    put("http", "get", b"GET /v2/health/live HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    chunk = f"{len(one):x}\r\n".encode() + one + b"\r\n0\r\n\r\n"
    put("http", "chunked", b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" +
        chunk)
    put("http", "old", b"GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n")
