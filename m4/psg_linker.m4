dnl SPDX-License-Identifier: Apache-2.0
dnl PSG_VERSION_SCRIPT: does the linker take an export map?
AC_DEFUN([PSG_VERSION_SCRIPT], [
  AC_CACHE_CHECK([whether the linker takes a version script], [psg_cv_version_script], [
    AS_ECHO(["PSG_TEST { global: main; local: *; };"]) > conftest.map
    psg_save_LDFLAGS=$LDFLAGS
    LDFLAGS="$LDFLAGS -Wl,--version-script=conftest.map"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [psg_cv_version_script=yes], [psg_cv_version_script=no])
    LDFLAGS=$psg_save_LDFLAGS
    rm -f conftest.map])
  AM_CONDITIONAL([VERSION_SCRIPT], [test "x$psg_cv_version_script" = xyes])
])

dnl PSG_LIBRARY_LDFLAGS: a library that names all it needs, has no executable stack and is relocated
dnl once.  Sanitizers leave their run-time's symbols to the program, so -z defs is not for them.
AC_DEFUN([PSG_LIBRARY_LDFLAGS], [
  AX_APPEND_LINK_FLAGS([-Wl,--as-needed -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack], [PSG_LDFLAGS])
  AS_IF([test "x$psg_sanitizers" = xnone], [AX_APPEND_LINK_FLAGS([-Wl,-z,defs], [PSG_LDFLAGS])])
  AC_SUBST([PSG_LDFLAGS])
])
