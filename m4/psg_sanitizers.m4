dnl SPDX-License-Identifier: Apache-2.0
dnl PSG_SANITIZERS: --enable-asan (with UBSan) or --enable-tsan build everything instrumented.
AC_DEFUN([PSG_SANITIZERS], [
  AC_ARG_ENABLE([asan], [AS_HELP_STRING([--enable-asan], [build with AddressSanitizer and UBSan])],
    [], [enable_asan=no])
  AC_ARG_ENABLE([tsan], [AS_HELP_STRING([--enable-tsan], [build with ThreadSanitizer])],
    [], [enable_tsan=no])
  psg_sanitizers=none
  AS_IF([test "x$enable_asan" = xyes && test "x$enable_tsan" = xyes],
    [AC_MSG_ERROR([--enable-asan and --enable-tsan exclude each other])])
  AS_IF([test "x$enable_asan" = xyes], [
    psg_sanitizers="address undefined"
    PSG_SANITIZER_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g"])
  AS_IF([test "x$enable_tsan" = xyes], [
    psg_sanitizers=thread
    PSG_SANITIZER_CFLAGS="-fsanitize=thread -fno-omit-frame-pointer -g"
    AC_DEFINE([PSG_TSAN], [1], [Built with ThreadSanitizer, which cannot see CK's inline assembly])])
  AS_IF([test "x$psg_sanitizers" != xnone],
    [AC_DEFINE([PSG_SANITIZED], [1], [Built with a sanitizer])])
  AM_CONDITIONAL([SANITIZED], [test "x$psg_sanitizers" != xnone])
  AC_SUBST([PSG_SANITIZER_CFLAGS])
])
