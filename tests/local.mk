# Tests: one program a room piece; TEST_X is what a test of room X may link.
TEST_BASE = libpsgbase.la
TEST_DRIVER = libpsgdriver.la $(TEST_BASE)
TEST_DEVICE = libpsgdevice.la $(TEST_DRIVER)
TEST_OPS = libpsgops.la $(TEST_DEVICE)
TEST_MODEL = libpsgmodel.la $(TEST_OPS)
TEST_JOBS = libpsgjobs.la $(TEST_MODEL)
TEST_OCR = libpsgocr.la $(TEST_JOBS)
TEST_LIBS = $(CHECK_LIBS) $(EXTERNAL_LIBS)
TEST_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)

include tests/base.mk
include tests/fakecuda/local.mk
include tests/driver.mk
include tests/device.mk
include tests/ops.mk
include tests/model.mk
include tests/jobs.mk
include tests/ocr.mk
include tests/cli.mk
include tests/server.mk
