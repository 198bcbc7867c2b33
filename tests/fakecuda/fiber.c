/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define FIBER_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define FIBER_TSAN 1
#endif
#ifdef FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif
#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define FIBER_VALGRIND 1
#endif
#endif
#ifndef __x86_64__
#include <ucontext.h>
#endif

/* A kernel keeps a tile's sums in its frame; sanitizers make frames several times larger. */
#define STACK_BYTES ((size_t)256 << 10)

struct fiber {
	void (*body)(void *user);
	void *user;
	char *stack; /* its first page cannot be touched */
	bool ended;
#ifdef __x86_64__
	void *self, *back; /* stack pointers of who does not run */
#else
	ucontext_t self, back;
#endif
#ifdef FIBER_ASAN
	const void *back_stack;
	size_t back_bytes;
#endif
#ifdef FIBER_TSAN
	void *tsan, *tsan_back;
#endif
#ifdef FIBER_VALGRIND
	unsigned stack_id; /* it has to know where stacks lie, or takes a switch for a huge frame */
#endif
};

#ifdef __x86_64__
/*
 * Keeps the registers that a call keeps on the present stack, its pointer in *save, and goes on
 * where `to` was left.  swapcontext would make a system call for the signal mask each time.
 */
void fiber_switch(void **save, void *to);
__asm__(".text\n"
	".globl fiber_switch\n"
	".hidden fiber_switch\n"
	".type fiber_switch, @function\n"
	"fiber_switch:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	".size fiber_switch, .-fiber_switch\n");
#endif

/*
 * What is written here by one side and read by the other is in order because only one of them runs;
 * ThreadSanitizer is not told so, for it would take kernels' accesses to be in order too.
 */
#if defined(__GNUC__)
#define UNSEEN __attribute__((no_sanitize_thread, noinline))
#else
#define UNSEEN
#endif

/* From the fiber to who resumed it. */
UNSEEN static void leave(fiber *f)
{
#ifdef FIBER_ASAN
	void *fake;

	__sanitizer_start_switch_fiber(&fake, f->back_stack, f->back_bytes);
#endif
#ifdef FIBER_TSAN
	__tsan_switch_to_fiber(f->tsan_back, __tsan_switch_to_fiber_no_sync);
#endif
#ifdef __x86_64__
	fiber_switch(&f->self, f->back);
#else
	(void)swapcontext(&f->self, &f->back);
#endif
#ifdef FIBER_ASAN
	__sanitizer_finish_switch_fiber(fake, &f->back_stack, &f->back_bytes);
#endif
}

UNSEEN static void run(fiber *f)
{
#ifdef FIBER_ASAN
	__sanitizer_finish_switch_fiber(NULL, &f->back_stack, &f->back_bytes);
#endif
	for (;;) {
		f->body(f->user);
		f->ended = true;
		fiber_release(f);
		leave(f);
	}
}

#ifdef __x86_64__
/* The first entry: the fiber's own address lies in rbx, and the stack is as after a call. */
void fiber_start(fiber *f);
void fiber_start(fiber *f)
{
	run(f);
}
void fiber_entry(void);
__asm__(".text\n"
	".globl fiber_entry\n"
	".hidden fiber_entry\n"
	".type fiber_entry, @function\n"
	"fiber_entry:\n"
	"	movq %rbx, %rdi\n"
	"	xorl %ebp, %ebp\n"
	"	call fiber_start\n"
	"	ud2\n"
	".size fiber_entry, .-fiber_entry\n");

static void prepare(fiber *f)
{
	void **top = (void **)(void *)(f->stack + STACK_BYTES) - 2;

	/* r15 r14 r13 r12 rbx rbp, then where to return to; rsp is a multiple of 16 after it. */
	*--top = (void *)(uintptr_t)fiber_entry;
	*--top = NULL;
	*--top = f;
	*--top = NULL;
	*--top = NULL;
	*--top = NULL;
	*--top = NULL;
	f->self = top;
}
#else
static void start(unsigned high, unsigned low)
{
	run((fiber *)(((uintptr_t)high << 16 << 16) | (uintptr_t)low));
}

static void prepare(fiber *f)
{
	(void)getcontext(&f->self);
	f->self.uc_stack.ss_sp = f->stack;
	f->self.uc_stack.ss_size = STACK_BYTES;
	f->self.uc_link = NULL;
	makecontext(&f->self, (void (*)(void))start, 2, (unsigned)((uintptr_t)f >> 16 >> 16),
		    (unsigned)(uintptr_t)f);
}
#endif

fiber *fiber_create(void (*body)(void *user), void *user)
{
	fiber *f = calloc(1, sizeof(*f));
	long page = sysconf(_SC_PAGESIZE);

	if (f == NULL)
		return NULL;
	f->stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f->stack == MAP_FAILED) {
		free(f);
		return NULL;
	}
	(void)mprotect(f->stack, (size_t)page, PROT_NONE);
	f->body = body;
	f->user = user;
#ifdef FIBER_TSAN
	f->tsan = __tsan_create_fiber(0);
#endif
#ifdef FIBER_VALGRIND
	f->stack_id = VALGRIND_STACK_REGISTER(f->stack, f->stack + STACK_BYTES);
#endif
	prepare(f);
	return f;
}

void fiber_destroy(fiber *f)
{
	if (f == NULL)
		return;
#ifdef FIBER_TSAN
	__tsan_destroy_fiber(f->tsan);
#endif
#ifdef FIBER_VALGRIND
	VALGRIND_STACK_DEREGISTER(f->stack_id);
#endif
	(void)munmap(f->stack, STACK_BYTES);
	free(f);
}

UNSEEN bool fiber_resume(fiber *f)
{
#ifdef FIBER_ASAN
	void *fake;
#endif

	f->ended = false;
#ifdef FIBER_TSAN
	f->tsan_back = __tsan_get_current_fiber();
#endif
#ifdef FIBER_ASAN
	__sanitizer_start_switch_fiber(&fake, f->stack, STACK_BYTES);
#endif
#ifdef FIBER_TSAN
	__tsan_switch_to_fiber(f->tsan, __tsan_switch_to_fiber_no_sync);
#endif
#ifdef __x86_64__
	fiber_switch(&f->back, f->self);
#else
	(void)swapcontext(&f->back, &f->self);
#endif
#ifdef FIBER_ASAN
	__sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
	fiber_acquire(f);
	return f->ended;
}

void fiber_pause(fiber *f)
{
	fiber_release(f);
	leave(f);
}

void fiber_release(void *at)
{
#ifdef FIBER_TSAN
	__tsan_release(at);
#else
	(void)at;
#endif
}

void fiber_acquire(void *at)
{
#ifdef FIBER_TSAN
	__tsan_acquire(at);
#else
	(void)at;
#endif
}
