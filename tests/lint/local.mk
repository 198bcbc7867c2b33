# Checks of the source tree, of the built library and of the installed tree, and the builds under
# sanitizers.  Each sanitizer build is configured in a folder of its own below this build.
dist_check_SCRIPTS += tests/lint/test_rooms.sh tests/lint/exports.sh tests/lint/probes.sh
TESTS += tests/lint/test_rooms.sh tests/lint/exports.sh tests/lint/probes.sh
EXTRA_DIST += tests/lint/analyser.h tests/lint/installcheck.sh tests/lint/lint.sh \
	tests/lint/rooms.awk tests/lint/rooms.sh tests/lint/lsan.supp tests/lint/tsan.supp

lint: $(BUILT_SOURCES)
	@$(SHELL) $(top_srcdir)/tests/lint/lint.sh $(top_srcdir) $(top_builddir) -std=c11 -DHAVE_CONFIG_H \
		-I$(abs_top_builddir) -I$(abs_top_builddir)/src -I$(abs_top_srcdir)/include \
		-I$(abs_top_srcdir)/src -I$(abs_top_srcdir)/tests -I$(abs_top_srcdir) $(CK_CFLAGS) $(CHECK_CFLAGS) \
		$(LEPT_CFLAGS) $(JANSSON_CFLAGS) $(GLIB_CFLAGS) $(UV_CFLAGS) $(PANGO_CFLAGS) $(PROTOBUF_C_CFLAGS) $(MICROHTTPD_CFLAGS)

installcheck-local:
	@PSG_TOP='$(abs_top_srcdir)' PSG_BUILD='$(abs_top_builddir)' PSG_PREFIX='$(prefix)' \
		PSG_LIBDIR='$(libdir)' PSG_BINDIR='$(bindir)' PSG_VERSION='$(VERSION)' CC='$(CC)' \
		MAKE='$(MAKE)' PKG_CONFIG='$(PKG_CONFIG)' $(SHELL) $(top_srcdir)/tests/lint/installcheck.sh

# $(1): folder, $(2): configure's flags, $(3): environment, $(4): make's arguments
configured_make = $(MKDIR_P) $(1) && cd $(1) && \
	{ test -f Makefile || $(abs_top_srcdir)/configure --quiet $(PSG_CHOICES) $(2); } && \
	$(MAKE) check TESTS= && $(3) $(MAKE) check $(4)

# Instrumented code is slower than the time limits of its tests expect.  Fresh memory is filled with
# NaN, so that who reads what nobody wrote gets a wrong answer.
ASAN_ENVIRONMENT = CK_TIMEOUT_MULTIPLIER=20 UBSAN_OPTIONS=print_stacktrace=1 \
	ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1:max_malloc_fill_size=1073741824:malloc_fill_byte=255 \
	LSAN_OPTIONS=suppressions=$(abs_top_srcdir)/tests/lint/lsan.supp:print_suppressions=0
TSAN_ENVIRONMENT = CK_TIMEOUT_MULTIPLIER=20 \
	TSAN_OPTIONS=suppressions=$(abs_top_srcdir)/tests/lint/tsan.supp:second_deadlock_stack=1:allocator_may_return_null=1
# One thread has nobody to race with: only tests of more take part.
# The longest comes first, so that the others run beside it.
TSAN_TESTS = $(filter tests/test_nomem,$(TESTS)) \
	$(filter tests/test_base tests/test_histogram tests/test_trace tests/test_tensor \
	tests/test_plans tests/test_jobs_% tests/test_engine% \
	tests/test_gpu_jobs tests/test_gpu_flight tests/test_gpu_fleet tests/test_gpu_stall tests/test_gpu_storm tests/test_gpu_pages tests/test_gpu_worker \
	tests/test_kernels tests/test_cli_ocr.sh tests/test_cli_bench.sh tests/test_serve_ends.sh,$(TESTS))
VALGRIND = $(LIBTOOL) --mode=execute valgrind --quiet --leak-check=full --errors-for-leak-kinds=definite \
	--error-exitcode=1

check-asan:
	+$(call configured_make,asan,--enable-asan CFLAGS='-O1 -g',$(ASAN_ENVIRONMENT))

# Without oneDNN: ThreadSanitizer does not know libgomp's barriers.
check-tsan:
	+$(call configured_make,tsan,--enable-tsan --without-dnnl CFLAGS='-O2 -g',$(TSAN_ENVIRONMENT),TESTS='$(TSAN_TESTS)')

# Ten million random operations on futures, plain and under ThreadSanitizer: some minutes.
STRESS_OPS = 10000000
check-stress: tests/test_jobs_stress$(EXEEXT)
	PSG_STRESS_OPS=$(STRESS_OPS) CK_TIMEOUT_MULTIPLIER=20 tests/test_jobs_stress$(EXEEXT)
	+$(call configured_make,tsan,--enable-tsan --without-dnnl CFLAGS='-O2 -g',$(TSAN_ENVIRONMENT) PSG_STRESS_OPS=$(STRESS_OPS),TESTS=tests/test_jobs_stress)

# Without oneDNN: its generated code would take hours in the emulation.  Programs only: the scripts
# start a shell, which is not ours to check.
check-valgrind:
	+$(call configured_make,valgrind,--without-dnnl CFLAGS='-O1 -g',CK_TIMEOUT_MULTIPLIER=100 CK_FORK=no,LOG_COMPILER="$(VALGRIND)")

clean-local:
	rm -rf asan bench tsan valgrind installcheck pages lint-tidy.log

.PHONY: lint check-asan check-tsan check-stress check-valgrind
