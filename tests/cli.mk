# tests of the cli room

dist_check_SCRIPTS += tests/test_cli.sh tests/test_cli_bench.sh tests/test_cli_doctor.sh \
	tests/test_cli_model.sh tests/test_cli_ocr.sh
TESTS += tests/test_cli.sh tests/test_cli_bench.sh tests/test_cli_doctor.sh \
	tests/test_cli_model.sh tests/test_cli_ocr.sh
EXTRA_DIST += tests/cli_expect.sh

# The programs that the scripts need: the files they read, and a judge of JSON.
check_PROGRAMS += tests/cli_files
tests_cli_files_SOURCES = tests/cli_files.c tests/page_font.c tests/page_font.h
tests_cli_files_CPPFLAGS = $(AM_CPPFLAGS)
if HAVE_LEPT
if HAVE_PNG
if HAVE_JPEG
tests_cli_files_SOURCES += tests/image_samples.c tests/image_samples.h
tests_cli_files_CPPFLAGS += -DT_SAMPLES $(LEPT_CFLAGS) $(JPEG_CFLAGS)
tests_cli_files_LDADD = $(LEPT_LIBS) $(JPEG_LIBS)
endif
endif
endif
if HAVE_JANSSON
check_PROGRAMS += tests/json_pages tests/json_jobs tests/json_share
tests_json_jobs_SOURCES = tests/json_jobs.c
tests_json_jobs_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_json_jobs_LDADD = $(JANSSON_LIBS)
tests_json_share_SOURCES = tests/json_share.c
tests_json_share_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_json_share_LDADD = $(JANSSON_LIBS)
tests_json_pages_SOURCES = tests/json_pages.c
tests_json_pages_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_json_pages_LDADD = $(JANSSON_LIBS)
endif
