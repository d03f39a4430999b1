/* Prints the version of the running library, if the library has all functions of its headers. */
#include <gpuorch/gpuorch.h>
#include <stdio.h>

int main(void) {
    const uint32_t version = gpo_version();
    const gpo_api *api = gpo_get_api(GPO_VERSION);
    if (api == NULL || api->struct_size != sizeof *api || api->version() != version) return 1;
    printf("%u.%u.%u\n", version / 10000, version / 100 % 100, version % 100);
    return 0;
}
