/* methods.h: how methods read the objects among their arguments. */
#ifndef GPUORCH_LUA_METHODS_H
#define GPUORCH_LUA_METHODS_H

#include "calls.h"

/* The handle of the argument at an index; `word` is the name of the class. */
#define CHECK_HANDLE(index, word) \
    HANDLE((const object *)check_object(L, s, index, (enum class_id)CLASS_OF_##word), gpo_##word##_t)

#endif
