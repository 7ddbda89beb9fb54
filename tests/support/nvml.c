/* A stand-in for NVIDIA's NVML (libnvidia-ml.so.1): one device, whose figures never change.

   Only what pynvml and Dask call.  Sizes are those of NVML_MEMORY (bytes) and NVML_BUSY (percent). */

#include <stdlib.h>
#include <string.h>

typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned int gpu, memory; } utilization_t;

static int device;

static unsigned long long of(const char *name)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : 0;
}

static int text(char *to, unsigned int length, const char *from)
{
    strncpy(to, from, length);
    return 0;
}

int nvmlInit_v2(void) { return 0; }
int nvmlInitWithFlags(unsigned int flags) { (void)flags; return 0; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { (void)code; return "an error"; }
int nvmlSystemGetDriverVersion(char *to, unsigned int n) { return text(to, n, "570.0"); }
int nvmlDeviceGetCount_v2(unsigned int *count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int i, void **to) { (void)i; *to = &device; return 0; }
int nvmlDeviceGetHandleByUUID(const char *id, void **to) { (void)id; *to = &device; return 0; }
int nvmlDeviceGetName(void *d, char *to, unsigned int n) { (void)d; return text(to, n, "Stand-in GPU"); }
int nvmlDeviceGetUUID(void *d, char *to, unsigned int n) { (void)d; return text(to, n, "GPU-0"); }

int nvmlDeviceGetMemoryInfo(void *d, memory_t *to)
{
    (void)d;
    to->total = of("NVML_MEMORY");
    to->used = of("NVML_MEMORY_USED");
    to->free = to->total - to->used;
    return 0;
}

int nvmlDeviceGetUtilizationRates(void *d, utilization_t *to)
{
    (void)d;
    to->gpu = (unsigned int)of("NVML_BUSY");
    to->memory = 0;
    return 0;
}
