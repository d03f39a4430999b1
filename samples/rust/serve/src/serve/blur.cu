/* Blurs the images of a batch, by a thread for each element of three bytes. An image has two elements for width and
 * height, then its pixels. The weights 1 2 3 4 3 2 1, along rows and columns, add up to 256. At the edges pixels
 * repeat. */
static __device__ unsigned number(const unsigned char *bytes) { return bytes[0] | bytes[1] << 8 | bytes[2] << 16; }

extern "C" __global__ void blur(const unsigned char *in, unsigned long long in_bytes, unsigned char *out,
                                unsigned long long out_bytes, const unsigned *offsets, unsigned long long marks) {
    unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    if (i * 3 + 3 > in_bytes || i * 3 + 3 > out_bytes) return;
    unsigned long long image = 0, end = marks - 1; /* found by bisection: which image the element is of */
    while (end - image > 1) {
        unsigned long long middle = (image + end) / 2;
        if (offsets[middle] <= i) image = middle;
        else end = middle;
    }
    unsigned first = offsets[image], size = offsets[image + 1] - first, at = (unsigned)i - first;
    const unsigned char *start = in + 3ull * first, *pixels = start + 6;
    int width = size > 2 ? (int)number(start) : 0, height = size > 2 ? (int)number(start + 3) : 0;
    int sums[3] = {0, 0, 0};
    if (at >= 2 && (unsigned long long)width * height == size - 2) {
        int x = (int)(at - 2) % width, y = (int)(at - 2) / width;
        for (int v = -3; v <= 3; ++v) {
            int row = min(max(y + v, 0), height - 1);
            for (int u = -3; u <= 3; ++u) {
                int column = min(max(x + u, 0), width - 1), weight = (4 - abs(u)) * (4 - abs(v));
                for (int c = 0; c < 3; ++c) sums[c] += weight * pixels[((size_t)row * width + column) * 3 + c];
            }
        }
    }
    for (int c = 0; c < 3; ++c) out[i * 3 + c] = (unsigned char)((sums[c] + 128) >> 8);
}
