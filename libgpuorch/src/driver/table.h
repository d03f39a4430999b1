// The driver seam: the table of CUDA driver functions through which the whole library reaches a GPU.
//
// X(name, version, need). `name` is spelled as in cuda.h, so the member `table.name` has the type of the prototype to
// which cuda.h maps the name. `version` is passed to cuGetProcAddress: the first CUDA version with that prototype, or
// the oldest supported one, 12.2 (cuCtxCreate has another prototype from 11.4 on). `need` is `required` (without the
// function the driver is refused) or `optional` (the entry is NULL if the driver lacks the function; test it before the
// call). The software GPU fills every entry.
#pragma once

#include <cuda.h>

// CUDA 13's cuda.h maps these names to newer prototypes than those that the table requests.
#undef cuEventElapsedTime
#undef cuCtxCreate
#undef cuMemcpyBatchAsync
#undef cuStreamGetCaptureInfo
#undef cuGraphAddNode
#undef cuGraphNodeGetDependencies
#undef cuStreamUpdateCaptureDependencies

namespace gpo::driver {

// The prototypes that the table requests. CUDA 13's cuda.h doesn't declare them under these names.
using cuEventElapsedTime_t = CUresult CUDAAPI(float*, CUevent, CUevent);
using cuCtxCreate_t = CUresult CUDAAPI(CUcontext*, unsigned, CUdevice);
using cuStreamGetCaptureInfo_t = CUresult CUDAAPI(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*,
                                                  const CUgraphNode**, size_t*);
// Since 13.0 this function no longer returns the index of the failing copy.
using cuMemcpyBatchAsync_t = CUresult CUDAAPI(CUdeviceptr*, CUdeviceptr*, size_t*, size_t, CUmemcpyAttributes*,
                                              size_t*, size_t, CUstream);
using cuGraphAddNode_t = CUresult CUDAAPI(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUgraphNodeParams*);
using cuGraphNodeGetDependencies_t = CUresult CUDAAPI(CUgraphNode, CUgraphNode*, size_t*);
using cuStreamUpdateCaptureDependencies_t = CUresult CUDAAPI(CUstream, CUgraphNode*, size_t, unsigned);

}  // namespace gpo::driver

#define GPO_DRIVER_FUNCTIONS(X, Y)                        \
    /* used by most operations: one cache line */         \
    X(cuCtxGetId, 12020, required)                        \
    X(cuEventRecord, 12020, required)                     \
    X(cuLaunchKernel, 12020, required)                    \
    X(cuMemcpyHtoDAsync, 12020, required)                 \
    X(cuMemcpyDtoHAsync, 12020, required)                 \
    X(cuMemcpyDtoDAsync, 12020, required)                 \
    X(cuStreamWaitEvent, 12020, required)                 \
    X(cuEventQuery, 12020, required)                      \
    /* initialisation and errors */                       \
    X(cuInit, 12020, required)                            \
    X(cuDriverGetVersion, 12020, required)                \
    X(cuGetErrorName, 12020, required)                    \
    X(cuGetErrorString, 12020, required)                  \
    /* devices */                                         \
    X(cuDeviceGetCount, 12020, required)                  \
    X(cuDeviceGet, 12020, required)                       \
    X(cuDeviceGetName, 12020, required)                   \
    X(cuDeviceGetUuid, 12020, required)                   \
    X(cuDeviceTotalMem, 12020, required)                  \
    X(cuDeviceGetAttribute, 12020, required)              \
    X(cuDeviceGetPCIBusId, 12020, required)               \
    X(cuDeviceCanAccessPeer, 12020, required)             \
    X(cuDeviceGetP2PAttribute, 12020, required)           \
    X(cuDeviceGetDefaultMemPool, 12020, required)         \
    X(cuDevicePrimaryCtxRetain, 12020, required)          \
    X(cuDevicePrimaryCtxRelease, 12020, required)         \
    X(cuDevicePrimaryCtxGetState, 12020, required)        \
    /* contexts */                                        \
    Y(cuCtxCreate, 11030, required)                       \
    X(cuCtxDestroy, 12020, required)                      \
    X(cuCtxGetCurrent, 12020, required)                   \
    X(cuCtxSetCurrent, 12020, required)                   \
    X(cuCtxPushCurrent, 12020, required)                  \
    X(cuCtxPopCurrent, 12020, required)                   \
    X(cuCtxGetDevice, 12020, required)                    \
    X(cuCtxGetLimit, 12020, required)                     \
    X(cuCtxSetLimit, 12020, required)                     \
    X(cuCtxGetStreamPriorityRange, 12020, required)       \
    X(cuCtxEnablePeerAccess, 12020, required)             \
    X(cuCtxDisablePeerAccess, 12020, required)            \
    X(cuThreadExchangeStreamCaptureMode, 12020, required) \
    /* streams */                                         \
    X(cuStreamCreateWithPriority, 12020, required)        \
    X(cuStreamDestroy, 12020, required)                   \
    X(cuStreamQuery, 12020, required)                     \
    X(cuStreamSynchronize, 12020, required)               \
    X(cuStreamGetPriority, 12020, required)               \
    X(cuStreamGetFlags, 12020, required)                  \
    X(cuStreamGetCtx, 12020, required)                    \
    X(cuStreamIsCapturing, 12020, required)               \
    X(cuStreamBeginCapture, 12020, required)              \
    X(cuStreamBeginCaptureToGraph, 12030, optional)       \
    X(cuStreamEndCapture, 12020, required)                \
    Y(cuStreamGetCaptureInfo, 12020, required)            \
    Y(cuStreamUpdateCaptureDependencies, 12020, required) \
    X(cuStreamWriteValue32, 12020, required)              \
    X(cuStreamWaitValue32, 12020, required)               \
    X(cuLaunchHostFunc, 12020, required)                  \
    /* events */                                          \
    X(cuEventCreate, 12020, required)                     \
    X(cuEventDestroy, 12020, required)                    \
    X(cuEventSynchronize, 12020, required)                \
    X(cuEventRecordWithFlags, 12020, required)            \
    Y(cuEventElapsedTime, 12020, required)                \
    /* memory */                                          \
    X(cuMemGetInfo, 12020, required)                      \
    X(cuMemAlloc, 12020, required)                        \
    X(cuMemFree, 12020, required)                         \
    X(cuMemHostAlloc, 12020, required)                    \
    X(cuMemFreeHost, 12020, required)                     \
    X(cuMemHostRegister, 12020, required)                 \
    X(cuMemHostUnregister, 12020, required)               \
    X(cuMemHostGetDevicePointer, 12020, required)         \
    X(cuPointerGetAttribute, 12020, required)             \
    X(cuMemGetAddressRange, 12020, required)              \
    X(cuIpcGetMemHandle, 12020, required)                 \
    X(cuIpcOpenMemHandle, 12020, required)                \
    X(cuIpcCloseMemHandle, 12020, required)               \
    X(cuMemAllocAsync, 12020, required)                   \
    X(cuMemFreeAsync, 12020, required)                    \
    X(cuMemAllocFromPoolAsync, 12020, required)           \
    X(cuMemPoolCreate, 12020, required)                   \
    X(cuMemPoolDestroy, 12020, required)                  \
    X(cuMemPoolTrimTo, 12020, required)                   \
    X(cuMemPoolSetAttribute, 12020, required)             \
    X(cuMemPoolGetAttribute, 12020, required)             \
    X(cuMemPoolSetAccess, 12020, required)                \
    /* copies and fills */                                \
    X(cuMemcpyAsync, 12020, required)                     \
    X(cuMemcpyPeerAsync, 12020, required)                 \
    X(cuMemcpy2DAsync, 12020, required)                   \
    Y(cuMemcpyBatchAsync, 13000, optional)                \
    X(cuMemsetD8Async, 12020, required)                   \
    X(cuMemsetD16Async, 12020, required)                  \
    X(cuMemsetD32Async, 12020, required)                  \
    X(cuMemsetD2D8Async, 12020, required)                 \
    /* modules, functions, launches */                    \
    X(cuModuleLoadDataEx, 12020, required)                \
    X(cuModuleUnload, 12020, required)                    \
    X(cuModuleGetFunction, 12020, required)               \
    X(cuModuleGetGlobal, 12020, required)                 \
    X(cuModuleGetFunctionCount, 12040, optional)          \
    X(cuModuleEnumerateFunctions, 12040, optional)        \
    X(cuFuncGetName, 12030, optional)                     \
    X(cuFuncGetAttribute, 12020, required)                \
    X(cuFuncSetAttribute, 12020, required)                \
    X(cuFuncGetParamInfo, 12040, optional)                \
    X(cuFuncLoad, 12040, optional)                        \
    X(cuKernelGetFunction, 12020, required)               \
    X(cuLinkCreate, 12020, optional)                      \
    X(cuLinkAddData, 12020, optional)                     \
    X(cuLinkAddFile, 12020, optional)                     \
    X(cuLinkComplete, 12020, optional)                    \
    X(cuLinkDestroy, 12020, optional)                     \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 12020, required) \
    X(cuOccupancyMaxPotentialBlockSize, 12020, required)  \
    X(cuOccupancyMaxActiveClusters, 12020, required)      \
    X(cuLaunchKernelEx, 12020, required)                  \
    /* graphs */                                          \
    X(cuGraphCreate, 12020, required)                     \
    Y(cuGraphAddNode, 12020, required)                    \
    X(cuGraphDestroyNode, 12020, required)                \
    X(cuGraphGetNodes, 12020, required)                   \
    X(cuGraphNodeGetType, 12020, required)                \
    Y(cuGraphNodeGetDependencies, 12020, required)        \
    X(cuGraphKernelNodeGetParams, 12020, required)        \
    X(cuGraphKernelNodeSetParams, 12020, required)        \
    X(cuGraphKernelNodeGetAttribute, 12020, required)     \
    X(cuGraphKernelNodeSetAttribute, 12020, required)     \
    X(cuGraphKernelNodeCopyAttributes, 12020, required)   \
    X(cuGraphMemcpyNodeGetParams, 12020, required)        \
    X(cuGraphMemsetNodeGetParams, 12020, required)        \
    X(cuGraphHostNodeGetParams, 12020, required)          \
    X(cuGraphChildGraphNodeGetGraph, 12020, required)     \
    X(cuGraphEventRecordNodeGetEvent, 12020, required)    \
    X(cuGraphEventWaitNodeGetEvent, 12020, required)      \
    X(cuGraphMemAllocNodeGetParams, 12020, required)      \
    X(cuGraphMemFreeNodeGetParams, 12020, required)       \
    X(cuGraphClone, 12020, required)                      \
    X(cuGraphNodeFindInClone, 12020, required)            \
    X(cuGraphDestroy, 12020, required)                    \
    X(cuGraphConditionalHandleCreate, 12030, optional)    \
    X(cuGraphInstantiateWithFlags, 12020, required)       \
    X(cuGraphInstantiateWithParams, 12020, required)      \
    X(cuGraphUpload, 12020, required)                     \
    X(cuGraphLaunch, 12020, required)                     \
    X(cuGraphExecKernelNodeSetParams, 12020, required)    \
    X(cuGraphExecMemcpyNodeSetParams, 12020, required)    \
    X(cuGraphExecMemsetNodeSetParams, 12020, required)    \
    X(cuGraphNodeSetEnabled, 12020, required)             \
    X(cuGraphExecUpdate, 12020, required)                 \
    X(cuGraphExecDestroy, 12020, required)                \
    X(cuDeviceGetGraphMemAttribute, 12020, required)      \
    X(cuDeviceGraphMemTrim, 12020, required)

namespace gpo::driver {

struct alignas(64) Table {
#define X(name, version, need) decltype(&::name) name = nullptr;
#define Y(name, version, need) name##_t* name = nullptr;
    GPO_DRIVER_FUNCTIONS(X, Y)
#undef X
#undef Y
};

}  // namespace gpo::driver
