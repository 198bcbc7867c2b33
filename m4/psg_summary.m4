dnl SPDX-License-Identifier: Apache-2.0
dnl PSG_SUMMARY: what was configured and what follows from it, at the end of configure.
AC_DEFUN([PSG_SUMMARY], [
AS_IF([test "x$psg_with_dnnl" = xyes],
  [psg_says_dnnl="yes${OPENMP_CFLAGS:+, with OpenMP}"], [psg_says_dnnl="no: plain loops, several times slower"])
AS_IF([test "x$psg_with_leptonica" = xyes],
  [psg_says_leptonica="yes (TIFF, WebP, BMP, GIF)"], [psg_says_leptonica="no: no TIFF, WebP, BMP, GIF"])
AS_IF([test "x$psg_with_jansson" = xyes],
  [psg_says_jansson="yes (JSON)"], [psg_says_jansson="no: no JSON output"])
AS_IF([test "x$psg_with_microhttpd" = xyes],
  [psg_says_microhttpd="yes (the command serve)"], [psg_says_microhttpd="no: no command serve"])
AS_IF([test "x$psg_with_check" = xyes],
  [psg_says_check="yes"], [psg_says_check="no: make check runs the scripts only"])
AS_IF([test "x$psg_with_pango" = xyes],
  [psg_says_pango="yes"], [psg_says_pango="no: no rendered pages in the tests"])
AS_IF([test "x$psg_with_usdt" = xyes],
  [psg_says_usdt="yes"], [psg_says_usdt="no: no probes for tracers"])
AS_IF([test "x$psg_with_libpng" = xyes],
  [psg_says_libpng="yes"], [psg_says_libpng="no: no PNG"])
AS_IF([test "x$psg_with_libjpeg" = xyes],
  [psg_says_libjpeg="yes"], [psg_says_libjpeg="no: no JPEG"])
AS_IF([test "x$psg_with_glib" = xyes],
  [psg_says_glib="yes"], [psg_says_glib="no: bench jobs shows no GThreadPool"])
AS_IF([test "x$psg_with_libuv" = xyes],
  [psg_says_libuv="yes"], [psg_says_libuv="no: bench jobs shows no uv_queue_work"])
AS_ECHO(["
  $PACKAGE_NAME $PACKAGE_VERSION

    prefix            $prefix
    compiler          $CC
    CFLAGS            $CFLAGS
    warnings          $(AS_IF([test "x$enable_werror" = xyes], [echo errors], [echo shown]))
    sanitizers        $psg_sanitizers
    export map        $psg_cv_version_script

    oneDNN            $psg_says_dnnl
    Leptonica         $psg_says_leptonica
    libpng            $psg_says_libpng
    libjpeg           $psg_says_libjpeg
    Jansson           $psg_says_jansson
    libmicrohttpd     $psg_says_microhttpd
    USDT probes       $psg_says_usdt
    ONNX messages     $ONNX_PROTO
    CUDA device       yes, where the driver is found at run time

    Check             $psg_says_check
    Pango and Cairo   $psg_says_pango
    GLib              $psg_says_glib
    libuv             $psg_says_libuv

  Next: make, make check, make install
"])
])
