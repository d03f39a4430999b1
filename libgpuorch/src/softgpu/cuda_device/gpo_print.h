// A kernel's means to report and to query: printf, assert, trap, clocks, sleep.
#pragma once

#include "gpo_thread.h"

#define CUDART_VERSION 13000

__attribute__((format(printf, 1, 2), noinline)) static inline void __gpo_print(const char* format, ...) {
    char text[1024];
    __builtin_va_list arguments;
    __builtin_va_start(arguments, format);
    int length = __builtin_vsnprintf(text, sizeof text, format, arguments);
    __builtin_va_end(arguments);
    if (length < 0) return;
    gpo_soft_block* block = __gpo_block();
    block->services->print(block, text, length < 1024 ? static_cast<size_t>(length) : sizeof text - 1);
}
/// The number of arguments behind the format.
template <class... Arguments>
__gpo_inline int __gpo_printf(const char* format, Arguments... arguments) {
    if (!format) return -1;
    __gpo_print(format, arguments...);
    return static_cast<int>(sizeof...(Arguments));
}

__attribute__((noreturn, noinline)) static inline void __gpo_fail(int result, const char* text) {
    gpo_soft_block* block = __gpo_block();
    block->services->fail(block, result, text);
    __builtin_unreachable();
}
__attribute__((noreturn, noinline)) static inline void __gpo_assert_fail(const char* expression, const char* file,
                                                                         int line, const char* function) {
    char text[900];
    __builtin_snprintf(text, sizeof text, "%s:%d: %s: assertion `%s` failed", file, line, function, expression);
    __gpo_fail(710, text);
}
__attribute__((noreturn)) static inline void __trap() { __gpo_fail(719, "__trap()"); }
static inline void __brkpt() {}
static inline void __prof_trigger(int) {}

__gpo_inline long long clock64() {
    gpo_soft_block* block = __gpo_block();
    return static_cast<long long>(block->services->clock(block));
}
__gpo_inline clock_t __gpo_clock() { return static_cast<clock_t>(static_cast<int>(clock64())); }
__gpo_inline unsigned long long __gpo_globaltimer() {
    gpo_soft_block* block = __gpo_block();
    return block->services->global_timer(block);
}
__gpo_inline void __nanosleep(unsigned) { __gpo_jump(); }

extern "C" {
void* memcpy(void*, const void*, size_t) noexcept;
void* memmove(void*, const void*, size_t) noexcept;
void* memset(void*, int, size_t) noexcept;
int memcmp(const void*, const void*, size_t) noexcept;
void* malloc(size_t) noexcept;
void free(void*) noexcept;
}
