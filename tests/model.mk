# tests of the model room
if HAVE_CHECK
check_PROGRAMS += test_widths
TESTS += test_widths
test_widths_SOURCES = tests/test_widths.c tests/models.h
test_widths_CPPFLAGS = $(TEST_CPPFLAGS)
test_widths_LDADD = $(TEST_MODEL) $(TEST_LIBS)
endif
