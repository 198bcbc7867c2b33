noinst_LTLIBRARIES += libpsgmodel.la
ROOM_LIBS += libpsgmodel.la
libpsgmodel_la_SOURCES = src/model/graph.h src/model/graph.c \
	src/model/onnx_internal.h src/model/onnx.c src/model/onnx_attr.c src/model/onnx_bind.c \
	src/model/onnx_compose.c src/model/onnx_ops.c \
	src/model/onnx_tensor.c src/model/order.c \
	src/model/flow.h src/model/flow.c src/model/model.h src/model/model.c \
	src/model/pass_affine.c src/model/pass_fuse.c src/model/pass_flow.c src/model/pass_patterns.c src/model/pass_shuffle.c \
	src/model/passes.h src/model/passes.c src/model/lower_cuda.c src/model/plan.h src/model/plan.c src/model/plan_run.c \
	src/model/plans.h src/model/start.h src/model/plans.c src/model/specialise.c src/model/stats.c
if HAVE_DNNL
libpsgmodel_la_SOURCES += src/model/lower_fast.c
endif
nodist_libpsgmodel_la_SOURCES = src/model/onnx.pb-c.c src/model/onnx.pb-c.h
libpsgmodel_la_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_C_CFLAGS)
# Generated code is not ours to warn about.
libpsgmodel_la_CFLAGS = $(AM_CFLAGS)

BUILT_SOURCES += src/model/onnx.pb-c.h
CLEANFILES += src/model/onnx.pb-c.c src/model/onnx.pb-c.h
src/model/onnx.pb-c.c: $(ONNX_PROTO)
	$(AM_V_GEN)$(MKDIR_P) src/model && \
	$(PROTOC_C) --proto_path=$$(dirname "$(ONNX_PROTO)") --c_out=src/model "$(ONNX_PROTO)"
src/model/onnx.pb-c.h: src/model/onnx.pb-c.c

pkginclude_HEADERS += include/pagesift/model.h
