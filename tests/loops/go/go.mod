module gpuorch/loop

go 1.19
