// consumer.c in C++.
#include <gpuorch/gpuorch.hpp>

#include <iostream>

int main() {
    const auto runtime = gpuorch::runtime::create();
    if (runtime.statistics().live_objects > 1) return 1;
    const uint32_t version = gpo_version();
    std::cout << version / 10000 << '.' << version / 100 % 100 << '.' << version % 100 << '\n';
}
