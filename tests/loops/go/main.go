// Go: the library is loaded with dlopen through its table of functions, and the runtime's own poller waits for the queue's
// descriptor: no thread is blocked in a wait, and each stream has a goroutine that learns of its completions by a channel.
//
//	go run . LIBGPUORCH.so
package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>
#include <gpuorch/gpuorch.h>

static const gpo_api *load(const char *path) {
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const gpo_api *(*get)(uint32_t) = library ? (const gpo_api *(*)(uint32_t))dlsym(library, "gpo_get_api") : NULL;
	return get ? get(GPO_VERSION) : NULL;
}
static gpo_status open_all(const gpo_api *gpo, gpo_runtime_t *runtime, gpo_device_t *device, gpo_cq_t *cq, int32_t *fd,
                           uint64_t *memory) {
	gpo_status status = gpo->runtime_create(NULL, runtime);
	if (!status) status = gpo->device_open(*runtime, NULL, device);
	if (!status) status = gpo->cq_create(*runtime, NULL, cq);
	if (!status) status = gpo->cq_get_fd(*cq, fd);
	if (!status) status = gpo->memory_allocate(*device, 4 * 4096, NULL, memory);
	return status;
}
static gpo_status make_stream(const gpo_api *gpo, gpo_device_t device, gpo_stream_t *stream) {
	return gpo->stream_create(device, NULL, stream);
}
static gpo_status work(const gpo_api *gpo, gpo_stream_t stream, uint64_t memory, uint32_t value, gpo_cq_t cq, uint64_t user) {
	gpo_status status = gpo->fill(stream, memory, value, 4, 256);
	return status ? status : gpo->stream_notify(stream, cq, user);
}
static gpo_status drain(const gpo_api *gpo, gpo_cq_t cq, gpo_completion *entries, uint64_t room, uint64_t *count) {
	return gpo->cq_drain(cq, entries, sizeof *entries, room, count);
}
static gpo_status shut_down(const gpo_api *gpo, gpo_runtime_t runtime) {
	return gpo->runtime_shutdown(runtime, 30000000000);
}
*/
import "C"

import (
	"fmt"
	"os"
	"time"
)

const streams, each, underWay = 4, 2500, 8

func check(status C.gpo_status) {
	if status != 0 {
		panic(fmt.Sprint("gpo_status ", status))
	}
}

func main() {
	gpo := C.load(C.CString(os.Args[1]))
	if gpo == nil {
		panic("the library can't be loaded")
	}
	var runtime C.gpo_runtime_t
	var device C.gpo_device_t
	var cq C.gpo_cq_t
	var fd C.int32_t
	var memory C.uint64_t
	check(C.open_all(gpo, &runtime, &device, &cq, &fd, &memory))

	// A descriptor that is non-blocking already is one for the runtime's poller.
	file := os.NewFile(uintptr(fd), "gpuorch")
	conn, err := file.SyscallConn()
	if err != nil {
		panic(err)
	}
	err = file.SetReadDeadline(time.Now().Add(time.Minute))
	if err != nil {
		panic(err)
	}

	done := make(chan bool)
	var told [streams]chan uint64
	for s := range told {
		told[s] = make(chan uint64, underWay)
		var stream C.gpo_stream_t
		check(C.make_stream(gpo, device, &stream))
		go func(s int) {
			put := uint64(0)
			for next := uint64(0); next < each; next++ {
				for ; put < each && put < next+underWay; put++ {
					check(C.work(gpo, stream, memory+C.uint64_t(4096*s), C.uint32_t(put), cq, C.uint64_t(uint64(s)*each+put)))
				}
				if got := <-told[s]; got != next {
					panic(fmt.Sprint("stream ", s, " got ", got, " and not ", next))
				}
			}
			done <- true
		}(s)
	}

	total := 0
	entries := (*[underWay]C.gpo_completion)(C.calloc(underWay, C.sizeof_gpo_completion))
	for total < streams*each {
		err := conn.Read(func(uintptr) bool { // asked again when the descriptor is readable
			var count C.uint64_t
			check(C.drain(gpo, cq, &entries[0], underWay, &count))
			for _, entry := range entries[:count] {
				check(entry.status)
				told[entry.user_data/each] <- uint64(entry.user_data % each)
			}
			total += int(count)
			return count != 0
		})
		if err != nil {
			panic(err)
		}
	}
	for range told {
		<-done
	}
	file.Close()
	check(C.shut_down(gpo, runtime))
	fmt.Println(total, "completions")
}
