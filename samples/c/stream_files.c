/* stream_files [-o DIR] [--table FILE] [--trace DIR] [FILE]...: streams files through a GPU, or the software GPU where
 * there is none. A kernel counts the bytes of each chunk, maps them by a table of 256 (by default the complement) and
 * takes the CRC-32; the pipeline reads, copies and writes meanwhile. Without files it takes the machine's largest. -o
 * writes the mapped files, --trace a picture of what happened, timeline.svg, and trace.json for ui.perfetto.dev. */
#define _GNU_SOURCE
#include <gpuorch/gpuorch.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Code of the host and of the kernel. CRCs are polynomials over GF(2) modulo that of CRC-32; the highest bit is x^0. */
#define SHARED_CODE(prefix) \
    struct Result { unsigned long long histogram[256]; unsigned crc, unused; };  /* of a chunk */ \
    struct Tables { unsigned char map[256]; unsigned powers[32]; };              /* powers[k]: x^(8 * 2^k) */ \
    prefix unsigned multiply(unsigned a, unsigned b) { \
        unsigned product = 0; \
        for (unsigned i = 32; i-- > 0; b = b >> 1 ^ (b & 1 ? 0xedb88320u : 0)) product ^= a >> i & 1 ? b : 0; \
        return product; \
    } \
    prefix unsigned with_zeros(unsigned crc, unsigned long long zeros, const unsigned *powers) { /* bytes behind it */ \
        for (int k = 0; zeros != 0; ++k, zeros >>= 1) \
            if (zeros & 1) crc = multiply(powers[k % 32], crc);  /* x^(8 * 2^32) is x^8 again */ \
        return crc; \
    }
SHARED_CODE(static) static struct Tables tables; static int unwritable;  /* the standard output */
struct figures { struct Result sum; uint64_t bytes; gpo_pipeline_result run; };  /* of a file, or of all */
static volatile sig_atomic_t interrupted; static void interrupt(int number) { interrupted = number; }

/* The kernel, as text: the library has it compiled for the device. A block takes 64 KiB, a thread 1 KiB and counts in a
 * row of its own. Its CRC begins with 0 and gets as many zeros as bytes follow: the chunk's is the xor of all. */
#define TEXT(...) #__VA_ARGS__
#define EXPANDED_TEXT(...) TEXT(__VA_ARGS__)
static const char kernel_source[] = EXPANDED_TEXT(
    SHARED_CODE(__device__)
    enum { threads = 64, piece = 1024 };
    extern "C" __global__ void stream_files(const unsigned char *in, unsigned char *out, Result *result,
                                            unsigned long long bytes, Tables tables) {
        __shared__ unsigned short counts[threads][258];  /* 2 for padding: equal bytes don't meet in one bank */
        __shared__ unsigned crc_of[4][256];              /* of a byte with 0 to 3 zeros behind it */
        __shared__ unsigned char map[256];
        const unsigned me = threadIdx.x;
        for (unsigned i = 0; i < 258; ++i) counts[me][i] = 0;
        for (unsigned i = me; i < 256; i += threads) {
            map[i] = tables.map[i];
            for (unsigned k = 0, c = i; k < 32; crc_of[k++ / 8][i] = c) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
        }
        __syncthreads();
        unsigned long long at = (blockIdx.x * (unsigned long long)threads + me) * piece;
        const unsigned long long end = at + piece < bytes ? at + piece : bytes;
        unsigned crc = 0;
        for (; at + 16 <= end; at += 16) {
            const uint4 loaded = *(const uint4 *)(in + at);
            unsigned words[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
            for (int i = 0; i < 4; ++i) {
                const unsigned w = words[i], a = w & 255, b = w >> 8 & 255, c = w >> 16 & 255, d = w >> 24;
                ++counts[me][a], ++counts[me][b], ++counts[me][c], ++counts[me][d];
                const unsigned x = crc ^ (words[i] = map[a] | map[b] << 8 | map[c] << 16 | (unsigned)map[d] << 24);
                crc = crc_of[3][x & 255] ^ crc_of[2][x >> 8 & 255] ^ crc_of[1][x >> 16 & 255] ^ crc_of[0][x >> 24];
            }
            *(uint4 *)(out + at) = make_uint4(words[0], words[1], words[2], words[3]);
        }
        for (; at < end; crc = crc >> 8 ^ crc_of[0][(crc ^ out[at++]) & 255])
            ++counts[me][in[at]], out[at] = map[in[at]];
        if (crc != 0) atomicXor(&result->crc, with_zeros(crc, bytes - end, tables.powers));
        __syncthreads();
        for (unsigned value = me; value < 256; value += threads) {
            unsigned long long sum = 0;
            for (unsigned row = 0; row < threads; ++row) sum += counts[row][value];
            atomicAdd(&result->histogram[value], sum);
        }
    });

static gpo_status take(void *user, const gpo_chunk *chunk) {  /* called for each chunk, in order */
    struct figures *figures = user; const struct Result *result = chunk->result;
    for (int i = 0; i < 256; ++i) figures->sum.histogram[i] += result->histogram[i];
    figures->sum.crc = with_zeros(figures->sum.crc, chunk->bytes, tables.powers) ^ result->crc;
    return figures->bytes += chunk->bytes, GPO_SUCCESS;
}

static void print(const char *name, const struct figures *f) {
    double share, entropy = 0, size = (double)f->bytes, copy_ns = (double)(f->run.copy_in_ns + f->run.copy_out_ns);
    for (int i = 0; i < 256; ++i)
        if ((share = (double)f->sum.histogram[i] / size) > 0) entropy -= share * log2(share);
    printf("%s: %.0f bytes, entropy %.4f, CRC-32 %08x, %.2f GB/s, %.0f %% of copying hidden\n", name, size, entropy,
           with_zeros(~0u, f->bytes, tables.powers) ^ f->sum.crc ^ ~0u, size > 0 ? size / (double)f->run.elapsed_ns : 0,
           copy_ns > 0 ? 100 * (double)f->run.copy_hidden_ns / copy_ns : 0);
    if (fflush(stdout) != 0 && !unwritable++) perror("stream_files: standard output");
}

static int failed(const char *about, gpo_status status) {  /* says why the last call failed, if it did */
    gpo_error error = {.struct_size = sizeof error};
    if (status) gpo_last_error(&error), fprintf(stderr, "stream_files: %s: %s\n", about, error.message);
    return status != GPO_SUCCESS;
}

static const char *name_of(const char *path) { return strrchr(path, '/') ? strrchr(path, '/') + 1 : path; }
static int stream_file(gpo_pipeline_t pipeline, const char *path, const char *folder, struct figures *figures) {
    char target[4096] = ""; struct stat from = {0}, to;
    if (folder) snprintf(target, sizeof target, "%s/%s", folder, name_of(path));
    const int same = !stat(path, &from) && !stat(target, &to) && from.st_dev == to.st_dev && from.st_ino == to.st_ino;
    FILE *file = S_ISREG(from.st_mode) && from.st_size == 0 ? fopen(path, "rb") : NULL;  /* empty, or one of /proc */
    const int empty = file && fgetc(file) == EOF && !ferror(file), closed = file && fclose(file);
    if (same || (empty && !closed))
        return fprintf(stderr, "stream_files: %s: it %s\n", path, same ? "would be written over itself" : "is empty");
    gpo_source source = {.struct_size = sizeof source, .kind = GPO_SOURCE_FILE, .path = path,
                         .flags = GPO_SOURCE_UNCHANGED};
    gpo_sink sink = {.struct_size = sizeof sink, .kind = folder ? GPO_SINK_FILE : GPO_SINK_CALLBACK,
                     .path = folder ? target : NULL, .take = take, .user = figures};
    gpo_pipeline_progress now = {.struct_size = sizeof now}; figures->run.struct_size = sizeof figures->run;
    gpo_status status = gpo_pipeline_start(pipeline, &source, &sink);
    for (; !status && (status = gpo_pipeline_wait(pipeline, 100000000, &figures->run)) == GPO_TIMEOUT; status = 0) {
        if (interrupted) gpo_pipeline_cancel(pipeline);
        if (isatty(2) && gpo_pipeline_get_progress(pipeline, &now) == GPO_SUCCESS)
            fprintf(stderr, "\r\033[K%s: %.0f of %.0f MB", path, now.bytes_done * 1e-6, now.bytes_total * 1e-6);
    }
    if (isatty(2)) fprintf(stderr, "\r\033[K");
    return failed(path, status);
}

#define LARGEST \
    "find /usr/lib /usr/share -type f -readable -size +64k -printf '%s\\t%p\\n' 2>/dev/null | sort -rn | " \
    "awk -F '\\t' '{ n = $2; sub(/.*\\//, \"\", n) } !named[n]++ { print $2; if ((sum += $1) >= 67108864) exit }'"
int main(int count, char **files) {
    const char *folder = NULL, *table = NULL, *trace = NULL, *value; int next = 1, failures = 0;
    static char *own[1024], svg[4096], json[4096];
    for (; next < count && files[next][0] == '-'; next += 2)
        if ((value = files[next + 1]) && *value && !strcmp(files[next], "-o")) folder = value;
        else if (value && *value && !strcmp(files[next], "--table")) table = value;
        else if (value && *value && !strcmp(files[next], "--trace")) trace = value;
        else return fputs("usage: stream_files [-o DIR] [--table FILE] [--trace DIR] [FILE]...\n", stderr), 2;
    FILE *list = next == count ? popen(LARGEST, "r") : NULL, *map = table ? fopen(table, "rb") : NULL;
    if (list) for (files = own, next = count = 0; count < 1024 && fscanf(list, "%m[^\n]\n", &own[count]) == 1;) ++count;
    for (int i = 0; i < 256; ++i) tables.map[i] = (unsigned char)~i;
    for (int k = 0; k < 32; ++k) tables.powers[k] = k ? multiply(tables.powers[k - 1], tables.powers[k - 1]) : 1u << 23;
    if (folder) mkdir(folder, 0777);
    for (int i = folder ? next : count; i < count; ++i)
        for (int k = next; k < i; ++k)
            if (!strcmp(name_of(files[i]), name_of(files[k])))
                return fprintf(stderr, "stream_files: %s and %s would be one in %s\n", files[k], files[i], folder), 2;
    if (table && (!map || fread(tables.map, 1, 256, map) != 256 || fgetc(map) != EOF))
        return fprintf(stderr, "stream_files: %s is not a file of 256 bytes\n", table), 2;
    for (int i = 0, ends[] = {SIGINT, SIGTERM, SIGHUP}; i < 3 && signal(SIGPIPE, SIG_IGN) != SIG_ERR; ++i)
        if (ends[i] != SIGHUP || signal(SIGHUP, SIG_IGN) != SIG_IGN)  /* nohup's stays ignored; a second one kills */
            sigaction(ends[i], &(struct sigaction){.sa_handler = interrupt, .sa_flags = SA_RESETHAND}, NULL);
    if (trace) snprintf(svg, sizeof svg, "%s/timeline.svg", trace), snprintf(json, sizeof json, "%s/trace.json", trace);
    gpo_trace_options traced = {.struct_size = sizeof traced, .path = json, .picture = svg};
    gpo_runtime_t runtime; gpo_device_t device; gpo_module_t module; gpo_pipeline_t pipeline;
    gpo_device_properties about = {.struct_size = sizeof about}; struct figures total = {0};
    gpo_compile_options compile = {.struct_size = sizeof compile, .source = kernel_source, .file_name = "stream.cu"};
    gpo_stage_argument arguments[] = {GPO_STAGE_ARGUMENT(INPUT), GPO_STAGE_ARGUMENT(OUTPUT), GPO_STAGE_ARGUMENT(RESULT),
                                      GPO_STAGE_ARGUMENT(INPUT_BYTES), GPO_STAGE_ARGUMENT_VALUE(tables)};
    gpo_stage stage = GPO_STAGE_FOR_KERNEL(NULL, arguments); /* the kernel is compiled below */
    stage.block[0] = 64, stage.bytes_per_block = 64 << 10;
    gpo_pipeline_options options = {.struct_size = sizeof options, .stages = &stage, .stage_stride = sizeof stage,
                                    .stage_count = 1, .flags = GPO_PIPELINE_TIMES,
                                    .result_bytes = sizeof(struct Result)};
    if (failed("runtime", gpo_runtime_create(NULL, &runtime)) ||
        failed("device", gpo_device_open(runtime, NULL, &device) || gpo_device_get_properties(device, &about)) ||
        failed("kernel", gpo_module_compile(device, &compile, &module)) ||
        failed("kernel", gpo_module_get_kernel(module, "stream_files", &stage.kernel)) ||
        failed("pipeline", gpo_pipeline_create(device, &options, &pipeline)) ||
        (trace && failed("trace", gpo_trace_start(runtime, &traced)))) return 1;
    printf("device: %s\n", about.name);
    for (; next < count && !interrupted && (folder || !unwritable); ++next) {
        struct figures file = {0};
        if (stream_file(pipeline, files[next], folder, &file) && ++failures) continue;
        print(files[next], &file);
        take(&total, &(gpo_chunk){.bytes = file.bytes, .result = &file.sum});
        total.run.elapsed_ns += file.run.elapsed_ns, total.run.copy_in_ns += file.run.copy_in_ns;
        total.run.copy_out_ns += file.run.copy_out_ns, total.run.copy_hidden_ns += file.run.copy_hidden_ns;
    }
    print("total", &total);
    failures += trace && (failed("trace", gpo_trace_stop(runtime)) || printf("trace: %s, %s\n", svg, json) < 0);
    return gpo_runtime_shutdown(runtime, -1), interrupted ? 128 + interrupted : failures || unwritable;
}
