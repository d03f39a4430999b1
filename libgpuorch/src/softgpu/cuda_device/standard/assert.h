// May be included again with another NDEBUG, as the host's.
#pragma GCC system_header
#undef assert
#ifdef NDEBUG
#define assert(expression) ((void)0)
#else
#define assert(expression) \
    (__builtin_expect(!!(expression), 1) ? (void)0 : __gpo_assert_fail(#expression, __FILE__, __LINE__, __func__))
#endif
