# tests of the server room
if HAVE_MICROHTTPD
check_PROGRAMS += tests/http_raw tests/activate
tests_http_raw_SOURCES = tests/http_raw.c
tests_activate_SOURCES = tests/activate.c
dist_check_SCRIPTS += tests/test_serve.sh tests/test_serve_ends.sh tests/test_serve_hostile.sh
TESTS += tests/test_serve.sh tests/test_serve_ends.sh tests/test_serve_hostile.sh
endif
EXTRA_DIST += tests/serve_util.sh tests/check_metrics.awk
