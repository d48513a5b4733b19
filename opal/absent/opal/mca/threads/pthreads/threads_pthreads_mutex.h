/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * In place of a header of Open MPI 5 that distributions do not install: the names that the installed opal/mca/threads
 * headers take from it. The types are what they are there, since they lie inside of structures that we read.
 */
#ifndef NEZHA_ABSENT_THREADS_PTHREADS_MUTEX_H
#define NEZHA_ABSENT_THREADS_PTHREADS_MUTEX_H

#include <pthread.h>
#include <stdbool.h>

typedef pthread_mutex_t opal_thread_internal_mutex_t;
typedef pthread_cond_t opal_thread_internal_cond_t;

#define OPAL_THREAD_INTERNAL_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
#define OPAL_THREAD_INTERNAL_COND_INITIALIZER PTHREAD_COND_INITIALIZER

static inline int opal_thread_internal_mutex_init(opal_thread_internal_mutex_t *mutex, bool recursive)
{
    pthread_mutexattr_t kind;
    int rc = pthread_mutexattr_init(&kind);
    if (0 != rc) {
        return rc;
    }
    rc = pthread_mutexattr_settype(&kind, recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_DEFAULT);
    if (0 == rc) {
        rc = pthread_mutex_init(mutex, &kind);
    }
    pthread_mutexattr_destroy(&kind);
    return rc;
}

static inline void opal_thread_internal_mutex_lock(opal_thread_internal_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
}

static inline int opal_thread_internal_mutex_trylock(opal_thread_internal_mutex_t *mutex)
{
    return pthread_mutex_trylock(mutex);
}

static inline void opal_thread_internal_mutex_unlock(opal_thread_internal_mutex_t *mutex)
{
    pthread_mutex_unlock(mutex);
}

static inline void opal_thread_internal_mutex_destroy(opal_thread_internal_mutex_t *mutex)
{
    pthread_mutex_destroy(mutex);
}

static inline int opal_thread_internal_cond_init(opal_thread_internal_cond_t *cond)
{
    return pthread_cond_init(cond, NULL);
}

static inline void opal_thread_internal_cond_wait(opal_thread_internal_cond_t *cond, opal_thread_internal_mutex_t *mutex)
{
    pthread_cond_wait(cond, mutex);
}

static inline void opal_thread_internal_cond_signal(opal_thread_internal_cond_t *cond)
{
    pthread_cond_signal(cond);
}

static inline void opal_thread_internal_cond_broadcast(opal_thread_internal_cond_t *cond)
{
    pthread_cond_broadcast(cond);
}

static inline void opal_thread_internal_cond_destroy(opal_thread_internal_cond_t *cond)
{
    pthread_cond_destroy(cond);
}

#endif
