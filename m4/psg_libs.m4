dnl SPDX-License-Identifier: Apache-2.0
dnl PSG_WITH_PKG(NAME, VARIABLE, MODULE, PURPOSE): an optional pkg-config module, on unless --without-NAME.
dnl PSG_CHOICES collects what was switched off, for the builds that `make` configures itself.
AC_DEFUN([PSG_WITH_PKG], [
  AC_ARG_WITH([$1], [AS_HELP_STRING([--without-$1], [build without $1 ($4)])], [], [with_$1=yes])
  psg_with_$1=no
  AS_IF([test "x$with_$1" != xno], [
    PKG_CHECK_MODULES([$2], [$3], [
      psg_with_$1="yes"
      AC_DEFINE([HAVE_$2], [1], [$1 is there: $4])],
      [AC_MSG_ERROR([$3 is needed for $4; install it or give --without-$1])])],
    [PSG_CHOICES="$PSG_CHOICES --without-$1"])
  AM_CONDITIONAL([HAVE_$2], [test "x$psg_with_$1" = xyes])
])

dnl PSG_WITH_PEER(NAME, VARIABLE, MODULE, PURPOSE): a pkg-config module that only the command's benchmarks
dnl use, where it is there; --with-NAME wants it, --without-NAME leaves it out.
AC_DEFUN([PSG_WITH_PEER], [
  AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1], [build with $1 ($4); default: where it is there])],
    [], [with_$1=check])
  psg_with_$1=no
  AS_IF([test "x$with_$1" != xno], [
    PKG_CHECK_MODULES([$2], [$3], [
      psg_with_$1="yes"
      AC_DEFINE([HAVE_$2], [1], [$1 is there: $4])],
      [AS_IF([test "x$with_$1" != xcheck],
        [AC_MSG_ERROR([$3 is needed for $4; install it or give --without-$1])])])])
  AS_IF([test "x$psg_with_$1" = xno], [PSG_CHOICES="$PSG_CHOICES --without-$1"])
  AM_CONDITIONAL([HAVE_$2], [test "x$psg_with_$1" = xyes])
])

dnl PSG_WITH_DNNL: oneDNN 2.x ships no pkg-config file in Debian 12; its header and library are probed.
AC_DEFUN([PSG_WITH_DNNL], [
  AC_ARG_WITH([dnnl], [AS_HELP_STRING([--without-dnnl], [build without oneDNN: the CPU device works, slower])],
    [], [with_dnnl=yes])
  psg_with_dnnl=no
  DNNL_LIBS=
  AS_IF([test "x$with_dnnl" != xno], [
    AC_CHECK_HEADER([oneapi/dnnl/dnnl.h], [],
      [AC_MSG_ERROR([oneDNN's header is missing; install libdnnl-dev or give --without-dnnl])])
    AC_CHECK_LIB([dnnl], [dnnl_primitive_desc_iterator_create], [DNNL_LIBS=-ldnnl],
      [AC_MSG_ERROR([oneDNN 2.x (libdnnl) is missing; install libdnnl-dev or give --without-dnnl])])
    psg_with_dnnl=yes
    AC_DEFINE([HAVE_DNNL], [1], [oneDNN is there])
    AC_OPENMP([C])])
  AC_SUBST([DNNL_LIBS])
  AM_CONDITIONAL([HAVE_DNNL], [test "x$psg_with_dnnl" = xyes])
])

dnl PSG_WITH_USDT: static probes are a header's macros; without it there are none, which costs nobody anything.
AC_DEFUN([PSG_WITH_USDT], [
  AC_ARG_WITH([usdt], [AS_HELP_STRING([--without-usdt],
    [build without static probes for tracers; the default is to have them where <sys/sdt.h> is])],
    [], [with_usdt=auto])
  psg_with_usdt=no
  AS_IF([test "x$with_usdt" != xno], [
    AC_CHECK_HEADER([sys/sdt.h], [psg_with_usdt=yes
      AC_DEFINE([HAVE_SDT], [1], [<sys/sdt.h> is there: static probes])],
      [AS_IF([test "x$with_usdt" = xyes],
        [AC_MSG_ERROR([sys/sdt.h is missing; install systemtap-sdt-dev or give --without-usdt])])])],
    [PSG_CHOICES="$PSG_CHOICES --without-usdt"])
])

dnl PSG_ONNX_PROTO: where the distribution's onnx.proto lies.
AC_DEFUN([PSG_ONNX_PROTO], [
  AC_ARG_WITH([onnx-proto], [AS_HELP_STRING([--with-onnx-proto=FILE], [ONNX's message definitions])],
    [ONNX_PROTO=$withval], [ONNX_PROTO=])
  AS_IF([test -z "$ONNX_PROTO"], [
    for psg_dir in $includedir /usr/include /usr/local/include; do
      AS_IF([test -f "$psg_dir/onnx/onnx.proto"], [ONNX_PROTO=$psg_dir/onnx/onnx.proto; break])
    done])
  AC_MSG_CHECKING([for onnx.proto])
  AS_IF([test -f "$ONNX_PROTO"], [AC_MSG_RESULT([$ONNX_PROTO])],
    [AC_MSG_ERROR([onnx.proto is missing; install libonnx-dev or give --with-onnx-proto=FILE])])
  AC_SUBST([ONNX_PROTO])
])
