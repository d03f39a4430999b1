// Where GCC's library would declare std::abs anew: it has CUDA's overloads (gpo_math.h).
#pragma once
#pragma GCC system_header
namespace std { using ::abs; }
