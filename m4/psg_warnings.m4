dnl SPDX-License-Identifier: Apache-2.0
dnl PSG_WARNING_FLAGS: warnings every file must be free of; errors only with --enable-werror.
AC_DEFUN([PSG_WARNING_FLAGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [treat warnings as errors])],
    [], [enable_werror=no])
  AX_APPEND_COMPILE_FLAGS([-std=c11 -Wall -Wextra -Wshadow -Wconversion -Wvla -Wstrict-prototypes dnl
    -Wmissing-prototypes -fvisibility=hidden], [PSG_CFLAGS], [-Werror])
  AS_IF([test "x$enable_werror" = xyes], [PSG_CFLAGS="$PSG_CFLAGS -Werror"])
  AC_SUBST([PSG_CFLAGS])
])
