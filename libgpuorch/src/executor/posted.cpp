#include "executor/posted.h"

#include <pthread.h>

namespace gpo {

namespace {
pthread_key_t g_key;
pthread_once_t g_key_once = PTHREAD_ONCE_INIT;
bool g_key_made = false;
}  // namespace

// Arranges that the thread's end frees what the thread keeps; false if that can't be. A destructor in place of the key
// would be noted by glibc at the first use, and glibc ends the process if there is no memory for that note.
bool FreePosted::note_end() noexcept {
    if (end_ == End::come) return false;  // the destructor of another key posts
    pthread_once(&g_key_once, [] { g_key_made = pthread_key_create(&g_key, free_all) == 0; });
    if (!g_key_made || pthread_setspecific(g_key, this) != 0) return false;
    end_ = End::noted;
    return true;
}

void FreePosted::free_all(void* mine) noexcept {
    FreePosted& free = *static_cast<FreePosted*>(mine);
    free.end_ = End::come;
    free.count_ = 0;
    while (free.first_) std::exchange(free.first_, free.first_->next_free_)->release();
}

}  // namespace gpo
