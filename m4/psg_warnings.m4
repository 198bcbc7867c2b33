dnl SPDX-License-Identifier: Apache-2.0
dnl PSG_COMPILER_FLAGS: the language, the warnings every file must be free of (errors only with
dnl --enable-werror), hidden symbols, and what keeps paths of this build out of the result.
AC_DEFUN([PSG_COMPILER_FLAGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [treat warnings as errors])],
    [], [enable_werror=no])
  AX_APPEND_COMPILE_FLAGS([-std=c11 -Wall -Wextra -Wshadow -Wconversion -Wvla -Wstrict-prototypes dnl
    -Wmissing-prototypes -fvisibility=hidden -fno-math-errno], [PSG_CFLAGS], [-Werror])
  AS_IF([test "x$enable_werror" = xyes], [PSG_CFLAGS="$PSG_CFLAGS -Werror"])
  AX_CHECK_COMPILE_FLAG([-fmacro-prefix-map=a=b],
    [PSG_CFLAGS="$PSG_CFLAGS -fmacro-prefix-map=\$(srcdir)/="], [], [-Werror])
  AC_SUBST([PSG_CFLAGS])
])
