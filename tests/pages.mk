# Rendered pages: render_page draws them from the texts in tests/pages, check_pages reads them.
if HAVE_PANGO
check_PROGRAMS += tests/render_page
endif
EXTRA_PROGRAMS += tests/render_page
tests_render_page_SOURCES = tests/render_page.c
# Never instrumented: Pango's and fontconfig's threads are not ours to check.
tests_render_page_CFLAGS = $(PSG_CFLAGS) $(PANGO_CFLAGS)
tests_render_page_LDFLAGS =
tests_render_page_LDADD = $(PANGO_LIBS)
dist_check_SCRIPTS += tests/render_pages.sh
EXTRA_DIST += tests/page_cases.txt tests/pages

check_PROGRAMS += tests/check_pages
tests_check_pages_SOURCES = tests/check_pages.c tests/error_rate.c tests/error_rate.h tests/models.h \
	tests/read_file.h
tests_check_pages_LDADD = libpagesift-gpu.la
dist_check_SCRIPTS += tests/check_pages.sh
TESTS += tests/check_pages.sh

# The error rate of any text, for scripts that measure: cer TRUTH.txt READ.txt
check_PROGRAMS += tests/cer
tests_cer_SOURCES = tests/cer.c tests/error_rate.c tests/error_rate.h tests/read_file.h
if HAVE_CHECK
check_PROGRAMS += tests/test_error_rate
TESTS += tests/test_error_rate
tests_test_error_rate_SOURCES = tests/test_error_rate.c tests/error_rate.c tests/error_rate.h
tests_test_error_rate_CPPFLAGS = $(TEST_CPPFLAGS)
tests_test_error_rate_LDADD = $(CHECK_LIBS)
endif

check_PROGRAMS += tests/test_memory
tests_test_memory_SOURCES = tests/test_memory.c tests/models.h tests/page_font.c tests/page_font.h
tests_test_memory_LDADD = libpagesift-gpu.la
TESTS += tests/test_memory

# The same over as many pages as the project promises; some minutes.
check-memory: tests/test_memory$(EXEEXT)
	tests/test_memory 50 500

.PHONY: check-memory

# All cases as pictures, for whoever needs a page: pages/NAME.png in the build folder.
pages: tests/render_page$(EXEEXT)
	$(AM_V_GEN)$(SHELL) $(srcdir)/tests/render_pages.sh tests/render_page $(srcdir)/tests pages

.PHONY: pages
