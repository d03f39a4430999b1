// The same in C++.
#include <gpuorch/gpuorch.h>

#include <iostream>

int main() {
    const uint32_t version = gpo_version();
    std::cout << version / 10000 << '.' << version / 100 % 100 << '.' << version % 100 << '\n';
}
