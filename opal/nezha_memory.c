/* SPDX-License-Identifier: BSD-3-Clause */
#include "opal/nezha_memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "opal/compat.h"
#include "opal/mca/memory/base/base.h"
#include "opal/memoryhooks/memory.h"

static _Atomic(nezha_memory_gone_t) watcher; /* stays when it is over: a call may be on its way */
static bool watching;

static void released(void *from, size_t size, void *unused, bool from_alloc)
{
    (void)unused;
    (void)from_alloc;
    atomic_load(&watcher)(from, size);
}

static _Atomic uintptr_t looked_for;
static atomic_bool seen;

static void look_for(const void *from, size_t size)
{
    const uintptr_t begin = (uintptr_t)from, place = atomic_load(&looked_for);
    if (begin <= place && place - begin < size) {
        atomic_store(&seen, true);
    }
}

/** Some releases of Open MPI do not hear of memory that is mapped over other memory, and do not say so. */
static bool hears_of_replacement(void)
{
    enum { SIZE = 4096, FLAGS = MAP_PRIVATE | MAP_ANONYMOUS };
    void *const memory = mmap(NULL, SIZE, PROT_READ, FLAGS, -1, 0);
    if (MAP_FAILED == memory) {
        return false;
    }
    atomic_store(&looked_for, (uintptr_t)memory);
    atomic_store(&seen, false);
    mmap(memory, SIZE, PROT_NONE, FLAGS | MAP_FIXED, -1, 0);
    const bool heard = atomic_load(&seen);
    munmap(memory, SIZE);
    return heard;
}

static bool can_watch(void)
{
    const int wanted = OPAL_MEMORY_FREE_SUPPORT | OPAL_MEMORY_MUNMAP_SUPPORT;
    atomic_store(&watcher, look_for);
    if (wanted != (wanted & opal_mem_hooks_support_level()) || OPAL_SUCCESS != opal_mem_hooks_register_release(released, NULL)) {
        return false;
    }
    if (hears_of_replacement()) {
        return true;
    }
    opal_mem_hooks_unregister_release(released);
    return false;
}

/** Open MPI patches the functions that give memory back when the framework is first opened, and not before somebody asks. */
bool nezha_memory_watch(nezha_memory_gone_t gone)
{
    if (OPAL_SUCCESS != mca_base_framework_open(&opal_memory_base_framework, 0)) {
        return false;
    }
    watching = can_watch();
    if (watching) {
        atomic_store(&watcher, gone);
    } else {
        mca_base_framework_close(&opal_memory_base_framework);
    }
    return watching;
}

void nezha_memory_unwatch(void)
{
    if (!watching) {
        return;
    }
    opal_mem_hooks_unregister_release(released);
    mca_base_framework_close(&opal_memory_base_framework);
    watching = false;
}
