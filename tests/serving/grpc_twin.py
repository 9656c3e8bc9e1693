#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Calls a gateway's gRPC face as the examples of Triton's Python client do.

  grpc_twin.py STUBS ADDRESS TOKEN OWNER    STUBS: a folder that protoc wrote grpc_service_pb2 into

Prints a line for each example that passes and ends with status 1 at the first that does not. Needs
Debian's python3-grpcio, python3-protobuf and python3-numpy. Models: those of models/triton, as
OWNER/simple and so on.
"""
import asyncio
import os
import sys
import threading

import grpc
import numpy as np
from elements import texts_of, with_lengths

STUBS, ADDRESS, TOKEN, OWNER = sys.argv[1:5]
sys.path.insert(0, STUBS)
from inference import grpc_service_pb2 as pb  # noqa: E402
from inference import grpc_service_pb2_grpc as service  # noqa: E402

METADATA = [("authorization", f"Bearer {TOKEN}")]
NUMPY = {"INT32": np.int32, "INT8": np.int8}


def digits_of(values):
    return [str(value).encode() for value in values]


def raw_of(values, datatype):
    if datatype == "BYTES":
        return with_lengths(digits_of(values))
    return values.astype(NUMPY[datatype]).tobytes()


def values_of(raw, datatype):
    if datatype == "BYTES":
        return np.array([int(text) for text in texts_of(raw)])
    return np.frombuffer(raw, NUMPY[datatype])


def request_of(model, first, second, datatype="INT32"):
    """As InferInput.set_data_from_numpy: elements raw, after the message."""
    request = pb.ModelInferRequest(model_name=f"{OWNER}/{model}", id="my request id")
    for i, values in enumerate((first, second)):
        request.inputs.add(name=f"INPUT{i}", datatype=datatype, shape=[1, 16])
        request.raw_input_contents.append(raw_of(values, datatype))
    request.outputs.add(name="OUTPUT0")
    request.outputs.add(name="OUTPUT1")
    return request


def explicit_of(model, first, second, datatype):
    request = request_of(model, first, second, datatype)
    del request.raw_input_contents[:]
    for tensor, values in zip(request.inputs, (first, second)):
        if datatype == "BYTES":
            tensor.contents.bytes_contents[:] = digits_of(values)
        else:
            tensor.contents.int_contents[:] = [int(value) for value in values]
    return request


def check(response, first, second, datatype="INT32"):
    outputs = [values_of(raw, datatype) for raw in response.raw_output_contents]
    assert [list(output.shape) for output in response.outputs] == [[1, 16], [1, 16]], response
    assert (outputs[0] == first + second).all(), outputs
    assert (outputs[1] == first - second).all(), outputs
    assert response.id == "my request id"
    assert len(response.parameters["commensal_receipt"].string_param) == 64


def expect(code, text, call):
    try:
        call()
    except grpc.RpcError as error:
        assert error.code() == code and text in error.details(), error
        return
    raise AssertionError(f"expected {code}: {text}")


A, B = np.arange(16), np.ones(16, int)
WRONG_BOTH = ("contents field must not be specified when using raw_input_contents for 'INPUT0' for "
              f"model '{OWNER}/simple'")
WRONG_VERSION = ("failed to get model version from specified version string "
                 "'wrong_specification'")


def infer(stub):
    for compression in (None, grpc.Compression.Gzip, grpc.Compression.Deflate):
        check(stub.ModelInfer(request_of("simple", A, B), metadata=METADATA,
                              compression=compression), A, B)
    expect(grpc.StatusCode.NOT_FOUND, "Request for unknown model",
           lambda: stub.ModelInfer(request_of("wrong_model", A, B), metadata=METADATA))
    expect(grpc.StatusCode.UNAUTHENTICATED, "token",
           lambda: stub.ModelInfer(request_of("simple", A, B)))


def async_infer(stub):
    futures = [stub.ModelInfer.future(request_of("simple", A, B), metadata=METADATA)
               for _ in range(50)]
    for future in futures:
        check(future.result(timeout=30), A, B)
    left = stub.ModelInfer.future(request_of("simple", A, B), metadata=METADATA)
    left.cancel()
    check(stub.ModelInfer(request_of("simple", A, B), metadata=METADATA, timeout=30), A, B)


def explicit_int_content(stub):
    request = explicit_of("simple", A, B, "INT32")
    check(stub.ModelInfer(request, metadata=METADATA), A, B)
    request.raw_input_contents.append(A.astype(np.int32).tobytes())
    expect(grpc.StatusCode.INVALID_ARGUMENT, WRONG_BOTH,
           lambda: stub.ModelInfer(request, metadata=METADATA))


def explicit_int8_content(stub):
    request = explicit_of("simple_int8", A, B, "INT8")
    check(stub.ModelInfer(request, metadata=METADATA), A, B, "INT8")
    request.model_version = "wrong_specification"
    expect(grpc.StatusCode.INVALID_ARGUMENT, WRONG_VERSION,
           lambda: stub.ModelInfer(request, metadata=METADATA))


def explicit_byte_content(stub):
    check(stub.ModelInfer(explicit_of("simple_string", A, B, "BYTES"), metadata=METADATA), A, B,
          "BYTES")


def string_infer(stub):
    check(stub.ModelInfer(request_of("simple_string", A, B, "BYTES"), metadata=METADATA), A, B,
          "BYTES")
    for row in ([b"he\x00llo"] * 16, [b""] * 16, [bytes([i, 255 - i]) for i in range(16)]):
        request = pb.ModelInferRequest(model_name="simple_identity")
        request.inputs.add(name="INPUT0", datatype="BYTES", shape=[1, 16])
        request.raw_input_contents.append(with_lengths(row))
        said = stub.ModelInfer(request, metadata=METADATA)
        assert said.outputs[0].datatype == "BYTES", said
        assert texts_of(said.raw_output_contents[0]) == row, said
    request.raw_input_contents[0] = with_lengths(row)[:-1]
    expect(grpc.StatusCode.INVALID_ARGUMENT, "string 15 is cut off",
           lambda: stub.ModelInfer(request, metadata=METADATA))


def image_client(stub):
    """As grpc_image_client.py and image_client.py --streaming: classes with their labels."""
    config = stub.ModelConfig(pb.ModelConfigRequest(name="densenet_onnx"), metadata=METADATA).config
    assert list(config.input[0].dims) == [3, 224, 224], config
    assert config.input[0].format == 2, config  # FORMAT_NCHW
    request = pb.ModelInferRequest(model_name="densenet_onnx")
    request.inputs.add(name="data_0", datatype="FP32", shape=[3, 224, 224])
    pixels = np.linspace(-1, 1, 3 * 224 * 224, dtype=np.float32)
    request.raw_input_contents.append(pixels.tobytes())
    scores = np.frombuffer(
        stub.ModelInfer(request, metadata=METADATA).raw_output_contents[0], np.float32)
    best = np.argsort(-scores, kind="stable")[:3]
    request.outputs.add(name="fc6_1").parameters["classification"].int64_param = 3
    answers = [stub.ModelInfer(request, metadata=METADATA)]
    answers += [said.infer_response
                for said in stub.ModelStreamInfer(iter([request, request]), metadata=METADATA)]
    for said in answers:
        texts = [text.decode().split(":") for text in texts_of(said.raw_output_contents[0])]
        assert [one[1:] for one in texts] == [[str(i), f"class {i}"] for i in best], texts
        assert list(said.outputs[0].shape) == [3], said


def memory_growth(stub):
    row = np.arange(64, dtype=np.int32)
    request = pb.ModelInferRequest(model_name="custom_identity_int32")
    request.inputs.add(name="INPUT0", datatype="INT32", shape=[1, 64])
    request.raw_input_contents.append(row.tobytes())
    for _ in range(50):
        assert stub.ModelInfer(request, metadata=METADATA).raw_output_contents[0] == row.tobytes()


def health(stub):
    assert stub.ServerLive(pb.ServerLiveRequest()).live


def stream(stub):
    requests = [request_of("simple", A + i, B) for i in range(8)]
    for i, said in enumerate(stub.ModelStreamInfer(iter(requests), metadata=METADATA)):
        assert said.error_message == "", said
        check(said.infer_response, A + i, B)
    assert i == 7


def reuse(stub):
    """One request, sent again with other elements, as reuse_infer_objects_client has it."""
    request = request_of("simple", A, B)
    for first in (A, A + 1, B):
        request.raw_input_contents[0] = raw_of(first, "INT32")
        check(stub.ModelInfer(request, metadata=METADATA), first, B)


def custom_args(stub):
    """Other options of a channel, as simple_grpc_custom_args_client and _keepalive_client have."""
    options = [("grpc.max_send_message_length", 2**31 - 1),
               ("grpc.max_receive_message_length", 2**31 - 1),
               ("grpc.keepalive_time_ms", 2**31 - 1), ("grpc.keepalive_timeout_ms", 20000),
               ("grpc.keepalive_permit_without_calls", 0),
               ("grpc.http2.max_pings_without_data", 2)]
    with grpc.insecure_channel(ADDRESS, options=options) as channel:
        other = service.GRPCInferenceServiceStub(channel)
        check(other.ModelInfer(request_of("simple", A, B), metadata=METADATA), A, B)


def threads(stub):
    """One channel, many threads."""
    failed = []

    def ask():
        try:
            for _ in range(10):
                check(stub.ModelInfer(request_of("simple", A, B), metadata=METADATA), A, B)
        except Exception as error:  # noqa: BLE001: told below
            failed.append(error)
    asking = [threading.Thread(target=ask) for _ in range(4)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert not failed, failed


def health_metadata(stub):
    assert stub.ServerReady(pb.ServerReadyRequest()).ready
    assert stub.ModelReady(pb.ModelReadyRequest(name="simple"), metadata=METADATA).ready
    server = stub.ServerMetadata(pb.ServerMetadataRequest())
    assert server.name == "triton" and "statistics" in server.extensions, server
    model = stub.ModelMetadata(pb.ModelMetadataRequest(name="simple"), metadata=METADATA)
    assert model.name == "simple" and list(model.inputs[0].shape) == [-1, 16], model
    config = stub.ModelConfig(pb.ModelConfigRequest(name="simple"), metadata=METADATA).config
    assert config.name == "simple" and config.max_batch_size == 8, config
    assert list(config.input[0].dims) == [16], config
    expect(grpc.StatusCode.NOT_FOUND, "wrong_model_name",
           lambda: stub.ModelMetadata(pb.ModelMetadataRequest(name="wrong_model_name"),
                                      metadata=METADATA))


def statistics(stub):
    check(stub.ModelInfer(request_of("simple", A, B), metadata=METADATA), A, B)
    said = stub.ModelStatistics(pb.ModelStatisticsRequest(name="simple"), metadata=METADATA)
    assert len(said.model_stats) == 1, said
    one = said.model_stats[0]
    assert one.inference_stats.success.count > 0, said
    assert 0 < one.execution_count <= one.inference_count, said
    runs = [(batch.batch_size, batch.compute_infer) for batch in one.batch_stats]
    assert sum(time.count for _, time in runs) == one.execution_count, said
    assert all(size > 0 and time.ns > 0 for size, time in runs), said


def settings(stub):
    traced = stub.TraceSetting(pb.TraceSettingRequest(), metadata=METADATA).settings
    assert list(traced["trace_level"].value) == ["OFF"], traced
    logged = stub.LogSettings(pb.LogSettingsRequest(), metadata=METADATA).settings
    assert logged["log_info"].bool_param and logged["log_verbose_level"].uint32_param == 0, logged


def sequence_of(value, sequence, start, end):
    request = pb.ModelInferRequest(model_name="simple_sequence", id=str(value))
    tensor = request.inputs.add(name="INPUT", datatype="INT32", shape=[1, 1])
    assert tensor.name == "INPUT"
    request.raw_input_contents.append(np.array([[value]], np.int32).tobytes())
    if isinstance(sequence, str):
        request.parameters["sequence_id"].string_param = sequence
    else:
        request.parameters["sequence_id"].int64_param = sequence
    request.parameters["sequence_start"].bool_param = start
    request.parameters["sequence_end"].bool_param = end
    return request


def sequences(stub):
    """Sync and streamed: the first of a sequence comes out one larger."""
    values = [0, 11, 7, 5, 3, 2, 0, 1]
    for sequence in (1000, "e333c95a-07fc-42d2-ab16-033b1a566ed5"):
        requests = [sequence_of(value, sequence, i == 0, i + 1 == len(values))
                    for i, value in enumerate(values)]
        sent = [stub.ModelInfer(request, metadata=METADATA) for request in requests]
        streamed = [said.infer_response
                    for said in stub.ModelStreamInfer(iter(requests), metadata=METADATA)]
        for answers in (sent, streamed):
            got = [int(np.frombuffer(one.raw_output_contents[0], np.int32)[0]) for one in answers]
            assert got == [1] + values[1:], got
    expect(grpc.StatusCode.INVALID_ARGUMENT, "must specify a non-zero or non-empty correlation ID",
           lambda: stub.ModelInfer(sequence_of(1, 0, True, True), metadata=METADATA))


def aio(_):
    """As simple_grpc_aio_infer_client and simple_grpc_aio_sequence_stream_infer_client."""
    async def ask():
        async with grpc.aio.insecure_channel(ADDRESS) as channel:
            stub = service.GRPCInferenceServiceStub(channel)
            metadata = tuple(METADATA)
            check(await stub.ModelInfer(request_of("simple", A, B), metadata=metadata), A, B)
            requests = iter([sequence_of(i, 1001, i == 0, i == 4) for i in range(5)])
            streamed = stub.ModelStreamInfer(requests, metadata=metadata)
            got = [values_of(said.infer_response.raw_output_contents[0], "INT32")[0]
                   async for said in streamed]
            assert got == [1, 1, 2, 3, 4], got
    asyncio.run(ask())


def shared_memory(stub):
    key = f"/commensal-twin-{os.getpid()}"
    path = "/dev/shm" + key
    try:
        for datatype in ("INT32", "BYTES"):
            rows = [raw_of(values, datatype) for values in (A, B)]
            with open(path, "wb") as memory:
                memory.write(b"".join(raw.ljust(256, b"\0") for raw in rows) + bytes(512))
            stub.SystemSharedMemoryRegister(pb.SystemSharedMemoryRegisterRequest(
                name="data", key=key, offset=0, byte_size=1024), metadata=METADATA)
            request = pb.ModelInferRequest(
                model_name="simple" if datatype == "INT32" else "simple_string")
            tensors = [request.inputs.add(name=f"INPUT{i}", datatype=datatype, shape=[1, 16])
                       for i in range(2)]
            tensors += [request.outputs.add(name=f"OUTPUT{i}") for i in range(2)]
            for i, tensor in enumerate(tensors):
                tensor.parameters["shared_memory_region"].string_param = "data"
                tensor.parameters["shared_memory_offset"].int64_param = 256 * i
                tensor.parameters["shared_memory_byte_size"].int64_param = (
                    len(rows[i]) if i < 2 else 256)
            said = stub.ModelInfer(request, metadata=METADATA)
            with open(path, "rb") as memory:
                content = memory.read()
            for i, expected in enumerate((A + B, A - B)):
                size = said.outputs[i].parameters["shared_memory_byte_size"].int64_param
                got = values_of(content[256 * (2 + i):][:size], datatype)
                assert (got == expected).all(), got
            if datatype == "INT32":
                stub.SystemSharedMemoryUnregister(pb.SystemSharedMemoryUnregisterRequest(),
                                                  metadata=METADATA)
        status = stub.SystemSharedMemoryStatus(pb.SystemSharedMemoryStatusRequest(),
                                               metadata=METADATA)
        assert status.regions["data"].byte_size == 1024, status
        stub.SystemSharedMemoryUnregister(pb.SystemSharedMemoryUnregisterRequest(name="data"),
                                          metadata=METADATA)
        stub.CudaSharedMemoryUnregister(pb.CudaSharedMemoryUnregisterRequest(), metadata=METADATA)
        expect(grpc.StatusCode.INVALID_ARGUMENT, "Unable to find shared memory region: 'data'",
               lambda: stub.ModelInfer(request, metadata=METADATA))
    finally:
        os.unlink(path)


def load(stub, name, **parameters):
    request = pb.RepositoryModelLoadRequest(model_name=name)
    for key, value in parameters.items():
        request.parameters[key].string_param = value
    stub.RepositoryModelLoad(request, metadata=METADATA)


def model_control(stub):
    index = stub.RepositoryIndex(pb.RepositoryIndexRequest(), metadata=METADATA)
    assert {"simple", "simple_int8", "simple_sequence"} <= {
        model.name for model in index.models}, index
    load(stub, "simple")
    assert stub.ModelReady(pb.ModelReadyRequest(name="simple"), metadata=METADATA).ready
    expect(grpc.StatusCode.INVALID_ARGUMENT, "failed to load",
           lambda: load(stub, "simple",
                        config='"parameters": {"config": {{"max_batch_size": "16"}}}'))
    load(stub, "simple", config='{"max_batch_size":"16"}')
    config = stub.ModelConfig(pb.ModelConfigRequest(name="simple"), metadata=METADATA).config
    assert config.max_batch_size == 16, config
    stub.RepositoryModelUnload(pb.RepositoryModelUnloadRequest(model_name="simple"),
                               metadata=METADATA)
    assert not stub.ModelReady(pb.ModelReadyRequest(name="simple"), metadata=METADATA).ready
    file = pb.RepositoryModelLoadRequest(model_name="simple")
    file.parameters["config"].string_param = "{}"
    file.parameters["file:" + "A" * 256].bytes_param = b"a"
    expect(grpc.StatusCode.INVALID_ARGUMENT, "Invalid file path",
           lambda: stub.RepositoryModelLoad(file, metadata=METADATA))
    file = pb.RepositoryModelLoadRequest(model_name="simple")
    file.parameters["file:1/model.onnx"].bytes_param = b"a"
    expect(grpc.StatusCode.INTERNAL, "failed to poll from model repository",
           lambda: stub.RepositoryModelLoad(file, metadata=METADATA))
    expect(grpc.StatusCode.NOT_FOUND, "failed to load", lambda: load(stub, "wrong_model_name"))
    load(stub, "simple")


def main():
    with grpc.insecure_channel(ADDRESS) as channel:
        stub = service.GRPCInferenceServiceStub(channel)
        for example in (health, infer, async_infer, explicit_int_content, explicit_int8_content,
                        explicit_byte_content, string_infer, image_client, memory_growth,
                        reuse, custom_args, stream, threads, health_metadata, statistics, settings,
                        sequences, aio, shared_memory, model_control):
            example(stub)
            print(f"{example.__name__}: passed", flush=True)


if __name__ == "__main__":
    sys.stderr = sys.stdout  # which the test shows
    main()
