// The cost of a runtime that opens no device, and a check that the driver isn't loaded. A separate program, because no
// other code may load the driver.
#include <fstream>

#include "bench/gpu.h"
#include "bench/pairs.h"

using namespace gpo::bench;

namespace {

bool driver_is_loaded() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find("libcuda") != std::string::npos) return true;
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("runtime", argc, argv);
    bench.row({.name = "runtime", .what = "create + shut down a runtime with no device opened", .unit = "ms",
               .target = value_at_most(1), .target_on = on_any},
              [](Row& row) {
                  if (driver_is_loaded()) throw std::runtime_error("libcuda is loaded before the library was used");
                  const auto once = [] {
                      const double begin = now_ns();
                      gpo_runtime_t runtime = nullptr;
                      CHECK_GPO(gpo_runtime_create(nullptr, &runtime));
                      CHECK_GPO(gpo_runtime_shutdown(runtime, -1));
                      return (now_ns() - begin) / 1e6;
                  };
                  char text[64];
                  std::snprintf(text, sizeof text, "the process's first: %.3f ms", once());
                  row.note(text);
                  row.alone(once);
                  if (driver_is_loaded()) throw std::runtime_error("libcuda was loaded");
                  row.note("libcuda not loaded");
              });
    return bench.finish();
}
