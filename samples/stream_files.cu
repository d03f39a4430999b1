// The main job's kernel, for the samples that read it from here: counts the bytes of a chunk, maps them by a table of
// 256 and takes the CRC-32 of the result. (samples/c/stream_files.c carries the same text in itself.) CRCs are
// polynomials over GF(2) modulo that of CRC-32; the highest bit is x^0.
struct Result { unsigned long long histogram[256]; unsigned crc, unused; };  // of a chunk
struct Tables { unsigned char map[256]; unsigned powers[32]; };              // powers[k]: x^(8 * 2^k)
__device__ unsigned multiply(unsigned a, unsigned b) {
    unsigned product = 0;
    for (unsigned i = 32; i-- > 0; b = b >> 1 ^ (b & 1 ? 0xedb88320u : 0)) product ^= a >> i & 1 ? b : 0;
    return product;
}
__device__ unsigned with_zeros(unsigned crc, unsigned long long zeros, const unsigned *powers) {  // bytes behind it
    for (int k = 0; zeros != 0; ++k, zeros >>= 1)
        if (zeros & 1) crc = multiply(powers[k % 32], crc);  // x^(8 * 2^32) is x^8 again
    return crc;
}

#ifdef __CUDACC__  // C++ hosts include what is above
// A block takes 64 KiB. A thread takes 1 KiB, and counts in its own row. Its CRC begins with 0 and gets as many zeros
// as bytes follow: the chunk's is the xor of all.
enum { threads = 64, piece = 1024 };
extern "C" __global__ void stream_files(const unsigned char *in, unsigned char *out, Result *result,
                                        unsigned long long bytes, Tables tables) {
    __shared__ unsigned short counts[threads][258];  // 2 for padding: equal bytes don't meet in one bank
    __shared__ unsigned crc_of[4][256];              // of a byte with 0 to 3 zeros behind it
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
}
#endif
