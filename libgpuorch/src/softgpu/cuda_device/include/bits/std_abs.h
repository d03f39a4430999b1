// Where GCC's library would declare std::abs anew: it has CUDA's overloads (gpo_math.h).
#pragma once
namespace std { using ::abs; }
