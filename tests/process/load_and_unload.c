// Loading the library, querying its version and unloading it leaks nothing, starts no threads, and loads no NVIDIA
// library.
// LINK: none
// REPEAT: 1 20
#include <dirent.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int entries(const char *folder) {
    int count = 0;
    DIR *directory = opendir(folder);
    if (directory == NULL) return -1;
    while (readdir(directory) != NULL) ++count;
    closedir(directory);
    return count;
}

static int check(int good, const char *what) {
    if (!good) fprintf(stderr, "load_and_unload: %s\n", what);
    return good;
}

int main(void) {
    const char *path = getenv("GPUORCH_LIBRARY");
    if (path == NULL) path = GPUORCH_LIBRARY;
    int descriptors = 0, threads = 0;
    for (int turn = 0; turn < 100; ++turn) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            fprintf(stderr, "load_and_unload: %s\n", dlerror());
            return 1;
        }
        uint32_t (*version)(void);
        *(void **)&version = dlsym(library, "gpo_version");
        if (!check(version != NULL && version() > 0, "there is no gpo_version, or it says 0")) return 1;
        dlclose(library);
        if (turn == 0) {
            descriptors = entries("/proc/self/fd");
            threads = entries("/proc/self/task");
        }
    }
    if (!check(entries("/proc/self/fd") == descriptors, "descriptors were left open")) return 1;
    if (!check(entries("/proc/self/task") == threads && threads == 3, "threads were started"))
        return 1;  // ".", "..", us

    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    if (maps == NULL) return 1;
    while (fgets(line, sizeof line, maps) != NULL) {
        if (!check(strstr(line, "libcuda") == NULL && strstr(line, "libnvidia") == NULL, line)) return 1;
    }
    fclose(maps);
    return 0;
}
