#!/usr/bin/env python3
"""Reads the library's Prometheus text with Prometheus' own parser: names, types, units, histogram; and checks figures
against what the program did. The library is loaded as a foreign runtime would: dlopen, no header."""
import ctypes
import pathlib
import re
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import built


def check(name, *facts):
    wrong = [f"{got!r} in place of {right!r}" for got, right in facts if got != right]
    print(f"FAIL {name}: {'; '.join(wrong)[:600]}" if wrong else f"PASS {name}")


class Library:
    """One runtime with one device and stream."""

    def __init__(self):
        self.gpo = ctypes.CDLL(str(built.LIBRARIES / "libgpuorch.so"))
        self.runtime, self.device, self.stream, self.queue = (ctypes.c_void_p() for _ in range(4))
        self.call("gpo_runtime_create", None, ctypes.byref(self.runtime))
        self.call("gpo_device_open", self.runtime, None, ctypes.byref(self.device))
        self.call("gpo_stream_create", self.device, None, ctypes.byref(self.stream))
        self.call("gpo_cq_create", self.runtime, None, ctypes.byref(self.queue))

    def call(self, name, *arguments):
        status = getattr(self.gpo, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} returned {status}")

    def text(self):
        needed = ctypes.c_size_t()
        self.gpo.gpo_runtime_get_metrics_text(self.runtime, None, ctypes.c_size_t(0), ctypes.byref(needed))
        buffer = ctypes.create_string_buffer(needed.value + 4096)
        self.call("gpo_runtime_get_metrics_text", self.runtime, buffer, ctypes.c_size_t(len(buffer)), ctypes.byref(needed))
        return buffer.value.decode()


def main():
    # Debian's package belongs to Debian's Python, while the path may name another Python.
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ImportError:
        print("SKIP the text parses as Prometheus' format: python3-prometheus-client is not installed")
        return
    library = Library()
    address = ctypes.c_uint64()
    library.call("gpo_memory_allocate", library.device, ctypes.c_uint64(4096), None, ctypes.byref(address))
    for number in range(5):
        library.call("gpo_fill", library.stream, address, ctypes.c_uint32(number), ctypes.c_uint32(4), ctypes.c_uint64(1024))
        library.call("gpo_stream_notify", library.stream, library.queue, ctypes.c_uint64(number))
    library.call("gpo_stream_wait", library.stream, ctypes.c_int64(-1))
    library.gpo.gpo_fill(library.stream, ctypes.c_uint64(0), 0, ctypes.c_uint32(1), ctypes.c_uint64(4))  # refused
    until = time.monotonic() + 60
    while 'gpuorch_completion_latency_seconds_count{runtime="1"} 5\n' not in (text := library.text()) and time.monotonic() < until:
        time.sleep(0.001)  # the entries come when the stream has been looked at, not when it is done
    library.call("gpo_memory_free", library.device, address)
    library.call("gpo_runtime_shutdown", library.runtime, ctypes.c_int64(-1))

    families = list(text_string_to_metric_families(text))
    every = [sample for family in families for sample in family.samples]
    samples = {(sample.name, *sorted((name, value) for name, value in sample.labels.items() if name != "runtime")): sample.value
               for sample in every}
    check("each sample says whose runtime it is of", ({sample.labels.get("runtime") for sample in every}, {"1"}),
          (len(every), len(samples)))
    check("the text parses, each metric once, with a help text and a type",
          (len(families) > 15, True), (len({family.name for family in families}), len(families)),
          ([family.name for family in families if not family.documentation.endswith(".") or family.type == "unknown"], []))
    counters = {family.name for family in families if family.type == "counter"}
    totals = set(re.findall(r"^# TYPE (\S+)_total counter$", text, flags=re.M))
    units = re.compile(r"_(seconds|bytes|ratio|watts|joules|celsius|hertz)(_|$)")
    measured = re.compile(r"latency|memory|utilization|power|energy|temperature|clock|pcie|bytes")
    check("names begin with gpuorch_, counters end in _total, measures in a base unit",
          ([family.name for family in families if not family.name.startswith("gpuorch_")], []), (totals, counters),
          ([family.name for family in families if measured.search(family.name) and not units.search(family.name)], []))
    buckets = [(float(dict(key[1:])["le"]), value) for key, value in samples.items()
               if key[0] == "gpuorch_completion_latency_seconds_bucket"]
    check("the histogram grows with its bounds and ends with all",
          (buckets, sorted(buckets)), ([value for _, value in buckets], sorted(value for _, value in buckets)),
          (buckets[-1], (float("inf"), 5.0)), (samples[("gpuorch_completion_latency_seconds_count",)], 5.0),
          (0 < samples[("gpuorch_completion_latency_seconds_sum",)] < 60, True))
    check("the figures are those of what was done",
          (samples[("gpuorch_operations_total", ("kind", "fill"))], 5.0), (samples[("gpuorch_notifies_total",)], 5.0),
          (samples[("gpuorch_completions_pending",)], 5.0), (samples[("gpuorch_operations_pending",)], 0.0),
          (samples[("gpuorch_errors_total", ("status", "GPO_INVALID_ARGUMENT"))], 1.0),
          (samples[("gpuorch_serialising_calls_total", ("call", "device_allocation"))], 1.0))


main()
