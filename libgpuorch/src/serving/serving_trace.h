// Requests in a trace: spans from submission to completion, batches, and arrows between them.
#pragma once

#include "core/runtime.h"
#include "trace/record.h"

namespace gpo::serving_trace {

/// In the call that submits a request. `owner`: the batcher's number.
inline void submission(const Runtime& runtime, uint64_t owner, uint64_t ticket) noexcept {
    if (!trace::on()) [[likely]]
        return;
    trace::Record record;
    record.kind = trace::Kind::submission;
    record.lane = static_cast<uint32_t>(owner);
    record.number = ticket;
    record.begin = record.end = host::now();
    trace::record(runtime.tag(), record);
}

struct Request {
    const char* name;   // static
    const char* label;  // interned
    uint64_t owner, ticket, user_data;
    uint64_t submitted_ns, formed_ns, ended_ns;  // formed_ns 0: there was no batch
    uint32_t track;
    gpo_status status;
};
/// On the thread that answers a request.
inline void request(const Runtime& runtime, const Request& request) noexcept {
    if (!trace::on()) [[likely]]
        return;
    trace::Record record;
    record.kind = trace::Kind::request;
    record.status = request.status;
    record.lane = static_cast<uint32_t>(request.owner);
    record.nodes = request.track;
    record.name = request.name;
    record.label = request.label;
    record.begin = request.submitted_ns;
    record.middle = request.formed_ns;
    record.end = request.ended_ns;
    record.number = request.ticket;
    record.bytes = request.user_data;
    trace::record(runtime.tag(), record);
}

struct Batch {
    const char* key;      // interned label
    const char* batcher;  // likewise
    uint64_t owner, requests, elements, formed_ns, ended_ns;
    uint32_t track;
    gpo_status status;
};
inline void batch(const Runtime& runtime, const Batch& batch) noexcept {
    if (!trace::on()) [[likely]]
        return;
    trace::Record record;
    record.kind = trace::Kind::batch;
    record.status = batch.status;
    record.lane = static_cast<uint32_t>(batch.owner);
    record.nodes = batch.track;
    record.label = batch.key;
    record.graph_template = batch.batcher;
    record.begin = batch.formed_ns;
    record.end = batch.ended_ns;
    record.number = batch.elements;
    record.bytes = batch.requests;
    trace::record(runtime.tag(), record);
}

}  // namespace gpo::serving_trace
