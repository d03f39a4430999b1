// Structs of the API as tests make them.
#pragma once

namespace gpo::test {

/// A struct of the API with its size set.
template <class T>
T sized() noexcept {
    T value{};
    value.struct_size = sizeof value;
    return value;
}

}  // namespace gpo::test
