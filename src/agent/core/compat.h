/* SPDX-License-Identifier: MIT
 *
 * Everything that differs between the CPython versions an agent is built for: the one place where
 * PY_VERSION_HEX is looked at. Which of the two kinds of hooks is compiled in (calls_profile.c up to 3.11,
 * calls_monitoring.c after) is decided in meson.build; this header says what each needs. */
#ifndef AGENT_CORE_COMPAT_H
#define AGENT_CORE_COMPAT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <frameobject.h>
#include <opcode.h>
#include <stdbool.h>
#include <stdint.h>

/* Some versions keep what is needed in headers of their own. */
#if PY_VERSION_HEX < 0x03090000 || PY_VERSION_HEX >= 0x030B0000
#define Py_BUILD_CORE 1
#if PY_VERSION_HEX < 0x03090000
#include <internal/pycore_pystate.h>
#elif PY_VERSION_HEX < 0x030E0000
#include <internal/pycore_frame.h>
#else
#include <internal/pycore_interpframe_structs.h>
#endif
#undef Py_BUILD_CORE
#endif

#pragma GCC visibility push(hidden)

/* Hooks of several threads run at the same time. */
#ifdef Py_GIL_DISABLED
#define COMPAT_IS_FREE_THREADED 1
#define COMPAT_BUILD_SUFFIX     "t"
#else
#define COMPAT_IS_FREE_THREADED 0
#define COMPAT_BUILD_SUFFIX     ""
#endif

/* Hooks need no lock, so the module does not bring the GIL back. */
static inline void compat_module_made(PyObject *module)
{
#ifdef Py_GIL_DISABLED
	if (module)
		PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#else
	(void)module;
#endif
}

/* Whether the hooks can be told of what the calling thread's interpreter runs. Up to 3.11 they are its threads'; from 3.12 on each interpreter
 * has its own sys.monitoring, and we are in the first one's. */
static inline bool compat_is_ours(void)
{
#if PY_VERSION_HEX >= 0x030C0000
	return PyThreadState_Get()->interp == PyInterpreterState_Main();
#else
	return true;
#endif
}

/* A thread has one profile function: the program's own takes the place of ours. */
#if PY_VERSION_HEX < 0x030C0000
#define COMPAT_HAS_ONE_PROFILER 1
#else
#define COMPAT_HAS_ONE_PROFILER 0
#endif

/* How long ours is gone then: up to 3.10 the next function that is entered finds the place empty, 3.11 has nothing that looks. */
#if PY_VERSION_HEX < 0x030B0000
#define COMPAT_PROFILER_IS_GONE "while it is set"
#else
#define COMPAT_PROFILER_IS_GONE "from then on"
#endif

/* ---- code objects ---------------------------------------------------------------------------- */

/* Borrowed. Up to 3.10 there are only plain names. */
static inline PyObject *compat_code_name(const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030B0000
	return code->co_qualname;
#else
	return code->co_name;
#endif
}

/* Borrowed: bytes, in the format of the version. */
static inline PyObject *compat_code_lines(const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030A0000
	return code->co_linetable;
#else
	return code->co_lnotab;
#endif
}

/* New reference: the instructions as compiled. */
static inline PyObject *compat_code_bytes(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030B0000
	return PyCode_GetCode(code);
#else
	Py_INCREF(code->co_code);
	return code->co_code;
#endif
}

/* Borrowed, NULL: there are none. Handlers are in a table from 3.11 on. */
static inline PyObject *compat_code_handlers(const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030B0000
	return code->co_exceptiontable;
#else
	(void)code;
	return NULL;
#endif
}

/* Borrowed: the names of locals; from 3.11 on cells and free variables are among them. */
static inline PyObject *compat_code_locals(const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030B0000
	return code->co_localsplusnames;
#else
	return code->co_varnames;
#endif
}

static inline PyObject *compat_code_cells(const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030B0000
	(void)code;
	return NULL;
#else
	return code->co_cellvars;
#endif
}

static inline PyObject *compat_code_frees(const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030B0000
	(void)code;
	return NULL;
#else
	return code->co_freevars;
#endif
}

/* From now on died(code) is called whenever a code object that was watched goes away. */
#if PY_VERSION_HEX >= 0x030C0000
typedef void compat_died_fn(const void *code);
extern compat_died_fn *compat_died;

static inline int compat_on_code_event(PyCodeEvent event, PyCodeObject *code)
{
	if (event == PY_CODE_EVENT_DESTROY)
		compat_died(code);
	return 0;
}

static inline bool compat_watch_start(compat_died_fn *died)
{
	compat_died = died;
	return PyCode_AddWatcher(compat_on_code_event) >= 0;
}

static inline void compat_watch(PyCodeObject *code)
{
	(void)code; /* all are */
}
#else
typedef void compat_died_fn(const void *code);
extern Py_ssize_t compat_extra;
extern compat_died_fn *compat_died;

static inline void compat_on_extra_freed(void *code)
{
	compat_died(code);
}

static inline bool compat_watch_start(compat_died_fn *died)
{
	compat_died = died;
	compat_extra = _PyEval_RequestCodeExtraIndex(compat_on_extra_freed);
	return compat_extra >= 0;
}

static inline void compat_watch(PyCodeObject *code)
{
	if (_PyCode_SetExtra((PyObject *)code, compat_extra, code) < 0)
		PyErr_Clear();
}
#endif

/* ---- frames ---------------------------------------------------------------------------------- */

/* New reference, NULL at the end. */
static inline PyFrameObject *compat_frame_back(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x03090000
	return PyFrame_GetBack(frame);
#else
	Py_XINCREF(frame->f_back);
	return frame->f_back;
#endif
}

/* Borrowed from the frame. */
static inline PyCodeObject *compat_frame_code(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030C0000
	PyCodeObject *code = PyFrame_GetCode(frame);

	Py_DECREF(code);
	return code;
#elif PY_VERSION_HEX >= 0x030B0000
	return frame->f_frame->f_code;
#else
	return frame->f_code;
#endif
}

static inline PyThreadState *compat_thread(void)
{
#if PY_VERSION_HEX >= 0x030D0000
	return PyThreadState_GetUnchecked();
#else
	return _PyThreadState_UncheckedGet();
#endif
}

/* The interpreter the program began in, not one that it made. */
static inline bool compat_is_first(void)
{
#if PY_VERSION_HEX >= 0x030C0000
	return compat_is_ours();
#else
	return compat_thread()->interp == PyInterpreterState_Main();
#endif
}

/* What names the activation that runs now, also while it is suspended: the address of its frame. */
#if PY_VERSION_HEX >= 0x030D0000
static inline const void *compat_activation(void)
{
	return compat_thread()->current_frame;
}
#elif PY_VERSION_HEX >= 0x030C0000
static inline const void *compat_activation(void)
{
	return compat_thread()->cframe->current_frame;
}
#else
/* Up to 3.11 the hooks get a frame object, which lives as long as the activation. */

enum compat_moment { COMPAT_BEGIN, COMPAT_RESUME, COMPAT_SUSPEND, COMPAT_END };

#if PY_VERSION_HEX >= 0x030B0000
/* The call is told at a RESUME, whose argument says what it is; or, when something is thrown into a generator, where it
 * was suspended. */
static inline enum compat_moment compat_moment_of_call(PyFrameObject *frame)
{
	const _PyInterpreterFrame *f = frame->f_frame;
	_Py_CODEUNIT at;

	if (f->owner != FRAME_OWNED_BY_GENERATOR)
		return COMPAT_BEGIN;
	at = *f->prev_instr;
	return (_Py_OPCODE(at) == RESUME || _Py_OPCODE(at) == RESUME_QUICK) && _Py_OPARG(at) == 0
		? COMPAT_BEGIN
		: COMPAT_RESUME;
}

static inline enum compat_moment compat_moment_of_return(PyFrameObject *frame)
{
	const _PyInterpreterFrame *f = frame->f_frame;
	const PyGenObject *gen;

	if (f->owner != FRAME_OWNED_BY_GENERATOR)
		return COMPAT_END;
	gen = (const PyGenObject *)((const char *)f - offsetof(PyGenObject, gi_iframe));
	return gen->gi_frame_state == FRAME_SUSPENDED ? COMPAT_SUSPEND : COMPAT_END;
}
#else
static inline enum compat_moment compat_moment_of_call(PyFrameObject *frame)
{
	return frame->f_lasti < 0 ? COMPAT_BEGIN : COMPAT_RESUME;
}

static inline enum compat_moment compat_moment_of_return(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030A0000
	return frame->f_state == FRAME_SUSPENDED ? COMPAT_SUSPEND : COMPAT_END;
#else
	return frame->f_stacktop ? COMPAT_SUSPEND : COMPAT_END;
#endif
}
#endif
#endif

/* ---- where a thread stands ------------------------------------------------------------------- */

struct compat_leaf {
	PyCodeObject *code; /* borrowed from the frame */
	uint32_t offset;    /* of the instruction, bytes */
};

/* Of a code object's instructions. */
static inline Py_ssize_t compat_code_n_bytes(const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030B0000
	return Py_SIZE(code) * (Py_ssize_t)sizeof(_Py_CODEUNIT);
#else
	return PyBytes_GET_SIZE(code->co_code);
#endif
}

#if PY_VERSION_HEX >= 0x030B0000
/* Where the thread's instructions begin: from 3.14 on without the GIL each thread has a copy of its own. */
static inline const char *compat_leaf_begin(
	const struct _PyInterpreterFrame *f, const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030E0000 && defined(Py_GIL_DISABLED)
	return f->tlbc_index >= 0 && f->tlbc_index < code->co_tlbc->size
		? code->co_tlbc->entries[f->tlbc_index]
		: code->co_code_adaptive;
#else
	(void)f;
	return code->co_code_adaptive;
#endif
}

/* NULL: a frame of the interpreter's own, without code of the program. */
static inline PyCodeObject *compat_leaf_code(const struct _PyInterpreterFrame *f)
{
#if PY_VERSION_HEX >= 0x030E0000
	PyObject *code = (PyObject *)(f->f_executable.bits & ~(uintptr_t)3);

	return f->owner < FRAME_OWNED_BY_INTERPRETER ? (PyCodeObject *)code : NULL;
#elif PY_VERSION_HEX >= 0x030D0000
	return f->owner != FRAME_OWNED_BY_CSTACK ? (PyCodeObject *)f->f_executable : NULL;
#elif PY_VERSION_HEX >= 0x030C0000
	return f->owner != FRAME_OWNED_BY_CSTACK ? f->f_code : NULL;
#else
	return f->f_code;
#endif
}

static inline const char *compat_leaf_at(const struct _PyInterpreterFrame *f)
{
#if PY_VERSION_HEX >= 0x030D0000
	return (const char *)f->instr_ptr;
#else
	return (const char *)f->prev_instr;
#endif
}

typedef const struct _PyInterpreterFrame compat_frame;

static inline compat_frame *compat_frame_with_code(compat_frame *f)
{
	enum { SKIPPED_MOST = 4 };

	for (int i = 0; f && !compat_leaf_code(f); i++)
		f = i < SKIPPED_MOST ? f->previous : NULL;
	return f;
}

/* The innermost Python frame of the calling thread, which need not hold the GIL; NULL: it runs none. */
static inline compat_frame *compat_leaf_frame(const PyThreadState *thread)
{
#if PY_VERSION_HEX >= 0x030D0000
	return compat_frame_with_code(thread->current_frame);
#else
	return thread->cframe ? compat_frame_with_code(thread->cframe->current_frame) : NULL;
#endif
}

static inline compat_frame *compat_leaf_up(compat_frame *f)
{
	return compat_frame_with_code(f->previous);
}

/* Changes with the instruction. */
static inline uintptr_t compat_leaf_mark(compat_frame *f)
{
	return (uintptr_t)compat_leaf_at(f);
}

static inline struct compat_leaf compat_leaf(compat_frame *f)
{
	PyCodeObject *code = compat_leaf_code(f);

	return (struct compat_leaf){ .code = code,
		.offset = (uint32_t)(compat_leaf_at(f) - compat_leaf_begin(f, code)) };
}

/* The first of its locals where it lies, borrowed; NULL: nothing. */
static inline PyObject *compat_leaf_first(compat_frame *f)
{
#if PY_VERSION_HEX >= 0x030E0000
	uintptr_t bits = f->localsplus[0].bits;

	return (bits & 3) < 2 ? (PyObject *)(bits & ~(uintptr_t)3) : NULL;
#else
	return f->localsplus[0];
#endif
}
#else
typedef const PyFrameObject compat_frame;

static inline compat_frame *compat_leaf_frame(const PyThreadState *thread)
{
	return thread->frame;
}

static inline compat_frame *compat_leaf_up(compat_frame *f)
{
	return f->f_back;
}

static inline PyCodeObject *compat_leaf_code(compat_frame *f)
{
	return f->f_code;
}

static inline uintptr_t compat_leaf_mark(compat_frame *f)
{
	return (uintptr_t)f->f_lasti;
}

static inline struct compat_leaf compat_leaf(compat_frame *f)
{
	uint32_t at = f->f_lasti < 0 ? 0 : (uint32_t)f->f_lasti;

#if PY_VERSION_HEX >= 0x030A0000
	at *= (uint32_t)sizeof(_Py_CODEUNIT);
#endif
	return (struct compat_leaf){ .code = f->f_code, .offset = at };
}

static inline PyObject *compat_leaf_first(compat_frame *f)
{
	return f->f_localsplus[0];
}
#endif

/* What a method's frame was called on, borrowed, where the method leaves it as it is; NULL: not known. Up to 3.10 one that inner
 * functions use lies elsewhere. */
static inline PyObject *compat_leaf_self(compat_frame *f)
{
	PyObject *o = compat_leaf_code(f)->co_argcount > 0 ? compat_leaf_first(f) : NULL;

	return o && Py_TYPE(o) == &PyCell_Type ? PyCell_GET(o) : o;
}

/* ---- what a function was called with --------------------------------------------------------- */

/* Bytes of a text where they lie; NULL: not in one piece (up to 3.11 there are such). */
struct compat_text {
	const void *data;
	size_t n;
};

static inline struct compat_text compat_text(PyObject *text)
{
#if PY_VERSION_HEX < 0x030C0000
	if (!PyUnicode_IS_READY(text))
		return (struct compat_text){ 0 };
#endif
	return (struct compat_text){ PyUnicode_DATA(text),
		(size_t)PyUnicode_GET_LENGTH(text) * (size_t)PyUnicode_KIND(text) };
}

/* What the interpreter keeps in slot i of an activation's locals, borrowed; NULL: nothing. activation: what compat_activation()
 * says, or up to 3.11 the frame object. */
static inline PyObject *compat_local(const void *activation, const PyCodeObject *code, int i)
{
#if PY_VERSION_HEX >= 0x030E0000
	const struct _PyInterpreterFrame *f = activation;
	uintptr_t bits = f->localsplus[i].bits, of = f->f_executable.bits & ~(uintptr_t)3;

	return of == (uintptr_t)code && (bits & 3) < 2 ? (PyObject *)(bits & ~(uintptr_t)3) : NULL;
#elif PY_VERSION_HEX >= 0x030D0000
	const struct _PyInterpreterFrame *f = activation;

	return f->f_executable == (const PyObject *)code ? f->localsplus[i] : NULL;
#elif PY_VERSION_HEX >= 0x030C0000
	const struct _PyInterpreterFrame *f = activation;

	return f->f_code == code ? f->localsplus[i] : NULL;
#elif PY_VERSION_HEX >= 0x030B0000
	(void)code;
	return ((const PyFrameObject *)activation)->f_frame->localsplus[i];
#else
	(void)code;
	return ((const PyFrameObject *)activation)->f_localsplus[i];
#endif
}

/* Argument i of an activation that has just begun, borrowed; NULL: not known. One that inner functions use lies in a cell. */
static inline PyObject *compat_argument(const void *activation, const PyCodeObject *code, int i)
{
	PyObject *o = compat_local(activation, code, i);

#if PY_VERSION_HEX >= 0x030B0000
	enum { IS_CELL = 0x40 };

	if (o && Py_TYPE(o) == &PyCell_Type && i < PyBytes_GET_SIZE(code->co_localspluskinds) &&
		(PyBytes_AS_STRING(code->co_localspluskinds)[i] & IS_CELL))
		return PyCell_GET(o);
	return o;
#else
	for (Py_ssize_t k = 0; !o && code->co_cell2arg && k < PyTuple_GET_SIZE(code->co_cellvars);
		k++)
		if (code->co_cell2arg[k] == i) {
			o = compat_local(activation, code, code->co_nlocals + (int)k);
			return o && Py_TYPE(o) == &PyCell_Type ? PyCell_GET(o) : NULL;
		}
	return o;
#endif
}

/* ---- profile functions of threads, up to 3.11 ------------------------------------------------ */
#if PY_VERSION_HEX < 0x030C0000

/* Gives a thread a profile function, as PyEval_SetProfile does for the running one; NULL takes it away.
 * obj is borrowed and must not die. */
static inline void compat_set_profile(PyThreadState *thread, Py_tracefunc function, PyObject *obj)
{
	PyObject *before = thread->c_profileobj;

	Py_XINCREF(obj);
	thread->c_profilefunc = function;
	thread->c_profileobj = obj;
#if PY_VERSION_HEX >= 0x030B0000
	thread->cframe->use_tracing = function || thread->c_tracefunc ? 255 : 0;
#elif PY_VERSION_HEX >= 0x030A0000
	thread->cframe->use_tracing = function || thread->c_tracefunc;
#else
	thread->use_tracing = function || thread->c_tracefunc;
#endif
	Py_XDECREF(before);
}

/* Calls look(thread) in each thread before it runs its first Python function, however it was made: one look for
 * those who want a profile function in each, one for those who want a trace function. */
enum compat_watch { COMPAT_WATCH_PROFILE, COMPAT_WATCH_TRACE, COMPAT_WATCHES };

typedef void compat_new_thread_fn(PyThreadState *thread);
extern compat_new_thread_fn *compat_new_thread[COMPAT_WATCHES];

void compat_watch_threads(enum compat_watch which, compat_new_thread_fn *look);

/* In compat.c alone: functions whose addresses the interpreter is given must be one each. */
#ifdef COMPAT_VARIABLES
static void compat_look_at(PyThreadState *thread)
{
	for (int i = 0; i < COMPAT_WATCHES; i++)
		if (compat_new_thread[i])
			compat_new_thread[i](thread);
}

/* Sets it; false when nobody looks any more. */
static bool compat_set_look(enum compat_watch which, compat_new_thread_fn *look)
{
	compat_new_thread[which] = look;
	return compat_new_thread[COMPAT_WATCH_PROFILE] || compat_new_thread[COMPAT_WATCH_TRACE];
}

static inline bool compat_is_new(const PyThreadState *thread)
{
	return (!thread->c_profilefunc && compat_new_thread[COMPAT_WATCH_PROFILE]) ||
		(!thread->c_tracefunc && compat_new_thread[COMPAT_WATCH_TRACE]);
}

#if PY_VERSION_HEX >= 0x030B0000
/* A thread's first frame needs a piece of data stack, and asks the allocator of arenas for it. */
extern PyObjectArenaAllocator compat_arenas;

static void *compat_arena_alloc(void *ctx, size_t size)
{
	PyThreadState *thread = compat_thread();

	if (thread && thread->datastack_chunk == NULL)
		compat_look_at(thread);
	return compat_arenas.alloc(ctx, size);
}

void compat_watch_threads(enum compat_watch which, compat_new_thread_fn *look)
{
	PyObjectArenaAllocator ours;
	bool is_watched = compat_set_look(which, look);

	PyObject_GetArenaAllocator(&ours);
	if (is_watched && ours.alloc != compat_arena_alloc) {
		compat_arenas = ours;
		ours.alloc = compat_arena_alloc;
		PyObject_SetArenaAllocator(&ours);
	} else if (!is_watched && ours.alloc == compat_arena_alloc) {
		PyObject_SetArenaAllocator(&compat_arenas);
	}
}
#else
/* Frames go through the interpreter's evaluation function, which costs next to nothing up to 3.10. */
extern _PyFrameEvalFunction compat_eval_before;

#if PY_VERSION_HEX >= 0x03090000
static PyObject *compat_eval(PyThreadState *thread, PyFrameObject *frame, int throwing)
{
	if (__builtin_expect(compat_is_new(thread), 0))
		compat_look_at(thread);
	return compat_eval_before(thread, frame, throwing);
}

void compat_watch_threads(enum compat_watch which, compat_new_thread_fn *look)
{
	PyInterpreterState *interpreter = PyInterpreterState_Get();
	_PyFrameEvalFunction now = _PyInterpreterState_GetEvalFrameFunc(interpreter);
	bool is_watched = compat_set_look(which, look);

	if (is_watched && now != compat_eval) {
		compat_eval_before = now;
		_PyInterpreterState_SetEvalFrameFunc(interpreter, compat_eval);
	} else if (!is_watched && now == compat_eval) {
		_PyInterpreterState_SetEvalFrameFunc(interpreter, compat_eval_before);
	}
}
#else
static PyObject *compat_eval(PyFrameObject *frame, int throwing)
{
	PyThreadState *thread = compat_thread();

	if (__builtin_expect(compat_is_new(thread), 0))
		compat_look_at(thread);
	return compat_eval_before(frame, throwing);
}

void compat_watch_threads(enum compat_watch which, compat_new_thread_fn *look)
{
	PyInterpreterState *interpreter = compat_thread()->interp;
	bool is_watched = compat_set_look(which, look);

	if (is_watched && interpreter->eval_frame != compat_eval) {
		compat_eval_before = interpreter->eval_frame;
		interpreter->eval_frame = compat_eval;
	} else if (!is_watched && interpreter->eval_frame == compat_eval) {
		interpreter->eval_frame = compat_eval_before;
	}
}
#endif
#endif
#endif
#endif

/* What the functions above keep, in compat.c. */
#ifdef COMPAT_VARIABLES
compat_died_fn *compat_died;
#if PY_VERSION_HEX < 0x030C0000
Py_ssize_t compat_extra = -1;
compat_new_thread_fn *compat_new_thread[COMPAT_WATCHES];
#if PY_VERSION_HEX >= 0x030B0000
PyObjectArenaAllocator compat_arenas;
#else
_PyFrameEvalFunction compat_eval_before;
#endif
#endif
#endif

/* ---- for lines ------------------------------------------------------------------------------- */

/* The interpreter ends. */
static inline bool compat_is_finalizing(void)
{
#if PY_VERSION_HEX >= 0x030D0000
	return Py_IsFinalizing();
#else
	return _Py_IsFinalizing();
#endif
}

/* Takes the error that is set out of the way, and puts it back. */
#if PY_VERSION_HEX >= 0x030C0000
struct compat_error {
	PyObject *raised;
};

static inline struct compat_error compat_error_take(void)
{
	return (struct compat_error){ PyErr_GetRaisedException() };
}

static inline void compat_error_put(struct compat_error e)
{
	PyErr_SetRaisedException(e.raised);
}
#else
struct compat_error {
	PyObject *type, *value, *traceback;
};

static inline struct compat_error compat_error_take(void)
{
	struct compat_error e;

	PyErr_Fetch(&e.type, &e.value, &e.traceback);
	return e;
}

static inline void compat_error_put(struct compat_error e)
{
	PyErr_Restore(e.type, e.value, e.traceback);
}
#endif

/* Whether events of single instructions can be switched off; whether code objects know their qualified names. */
#define COMPAT_HAS_BLOCKS   (PY_VERSION_HEX >= 0x030C0000)
#define COMPAT_HAS_QUALNAME (PY_VERSION_HEX >= 0x030B0000)

/* Calls look(ctx, line) for the line of each piece of the code object that has one. */
typedef void compat_line_fn(void *ctx, uint32_t line);

#if PY_VERSION_HEX >= 0x030A0000
static inline void compat_code_each_line(PyCodeObject *code, compat_line_fn *look, void *ctx)
{
	PyObject *lines = PyObject_CallMethod((PyObject *)code, "co_lines", NULL), *piece;

	while (lines && (piece = PyIter_Next(lines))) {
		PyObject *line = PyTuple_Check(piece) && PyTuple_GET_SIZE(piece) == 3
			? PyTuple_GET_ITEM(piece, 2)
			: Py_None;

		if (PyLong_Check(line))
			look(ctx, (uint32_t)PyLong_AsUnsignedLongMask(line));
		Py_DECREF(piece);
	}
	Py_XDECREF(lines);
	PyErr_Clear();
}
#else
/* co_lnotab: pairs of bytes, how far the next piece and, signed, its line lie from these. */
static inline void compat_code_each_line(PyCodeObject *code, compat_line_fn *look, void *ctx)
{
	const unsigned char *p = (const unsigned char *)PyBytes_AS_STRING(code->co_lnotab);
	int line = code->co_firstlineno;

	look(ctx, (uint32_t)line);
	for (Py_ssize_t i = 0; i + 1 < PyBytes_GET_SIZE(code->co_lnotab); i += 2) {
		line += (signed char)p[i + 1];
		look(ctx, (uint32_t)line);
	}
}
#endif

#if PY_VERSION_HEX >= 0x030C0000
/* Of a line or an offset, which are never negative and fit one digit. */
static inline uint32_t compat_small_int(PyObject *number)
{
	return ((PyLongObject *)number)->long_value.ob_digit[0];
}

/* The offset of the instruction that raises, of which the event tells `offset`: from 3.13 on that may be the one
 * before, when the exception comes out of a call. */
static inline uint32_t compat_raise_offset(uint32_t offset)
{
#if PY_VERSION_HEX >= 0x030D0000
	PyFrameObject *frame = PyEval_GetFrame();
	int at = frame ? PyFrame_GetLasti(frame) : -1;

	return at >= 0 ? (uint32_t)at : offset;
#else
	return offset;
#endif
}

/* Where control goes after an instruction: on to the next; to another place, maybe; there, back; or nowhere one could
 * tell (the end of a function, of a generator's turn, an exception). */
enum compat_flow { COMPAT_FLOW_ON, COMPAT_FLOW_JUMP, COMPAT_FLOW_BACK, COMPAT_FLOW_OUT };

static inline enum compat_flow compat_flow_of(int op)
{
	switch (op) {
	case JUMP_FORWARD:
	case POP_JUMP_IF_FALSE:
	case POP_JUMP_IF_TRUE:
	case POP_JUMP_IF_NONE:
	case POP_JUMP_IF_NOT_NONE:
	case FOR_ITER:
	case SEND:
		return COMPAT_FLOW_JUMP;
	case JUMP_BACKWARD:
	case JUMP_BACKWARD_NO_INTERRUPT:
		return COMPAT_FLOW_BACK;
	case RESUME: /* it has no event of its own but that an activation begins or goes on */
	case RETURN_VALUE:
	case RETURN_GENERATOR:
	case YIELD_VALUE:
	case RAISE_VARARGS:
	case RERAISE:
	case CLEANUP_THROW:
	case END_ASYNC_FOR:
#ifdef RETURN_CONST
	case RETURN_CONST:
#endif
		return COMPAT_FLOW_OUT;
	default:
		return COMPAT_FLOW_ON;
	}
}

/* The code object of an activation by what lines.h knows it by. */
static inline const void *compat_code_of_key(const void *key)
{
	return key;
}

/* Whether exits by exceptions can be watched in single code objects. */
#define COMPAT_HAS_LOCAL_UNWIND (PY_VERSION_HEX >= 0x030F0000)
#else
/* The code object of an activation by what lines.h knows it by: its frame. */
static inline const void *compat_code_of_key(const void *key)
{
	return compat_frame_code((PyFrameObject *)(uintptr_t)key);
}

/* Of the line the trace function is called for. */
static inline int compat_frame_line(PyFrameObject *frame)
{
	return frame->f_lineno;
}

/* Of the instruction it stands at, in bytes. */
static inline int compat_frame_offset(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030B0000
	return PyFrame_GetLasti(frame);
#elif PY_VERSION_HEX >= 0x030A0000
	return frame->f_lasti * (int)sizeof(_Py_CODEUNIT);
#else
	return frame->f_lasti;
#endif
}

/* From now on the trace function is told of each instruction of the activation. */
static inline void compat_frame_trace_opcodes(PyFrameObject *frame)
{
	frame->f_trace_opcodes = 1;
}

/* Whether it stands at the instruction that activations of 3.11 begin or go on with, at which the call is told and which
 * is not told itself. */
static inline bool compat_frame_is_at_resume(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030B0000
	int op = _Py_OPCODE(*frame->f_frame->prev_instr);

	return op == RESUME || op == RESUME_QUICK;
#else
	(void)frame;
	return false;
#endif
}

/* As compat_set_profile, for the trace function, which gets no object. That somebody traces at all must
 * have been told by PyEval_SetTrace. */
static inline void compat_set_trace(PyThreadState *thread, Py_tracefunc function)
{
	thread->c_tracefunc = function;
#if PY_VERSION_HEX >= 0x030B0000
	thread->cframe->use_tracing = function || thread->c_profilefunc ? 255 : 0;
#elif PY_VERSION_HEX >= 0x030A0000
	thread->cframe->use_tracing = function || thread->c_profilefunc;
#else
	thread->use_tracing = function || thread->c_profilefunc;
#endif
}
#endif

/* ---- whether all of this is so: proof.h ------------------------------------------------------- */

/* What is read of code objects, under the names they have as attributes; what is not here lies between two of them. */
#if PY_VERSION_HEX >= 0x030B0000
#define COMPAT_CODE_OBJECTS(F) \
	F(co_consts)           \
	F(co_names) F(co_exceptiontable) F(co_filename) F(co_name) F(co_qualname) F(co_linetable)
#define COMPAT_CODE_NUMBERS(F) \
	F(co_flags) F(co_argcount) F(co_kwonlyargcount) F(co_firstlineno) F(co_nlocals)
#else
#if PY_VERSION_HEX >= 0x030A0000
#define COMPAT_CODE_LINES(F) F(co_linetable)
#else
#define COMPAT_CODE_LINES(F) F(co_lnotab)
#endif
#define COMPAT_CODE_OBJECTS(F) \
	F(co_code)             \
	F(co_consts)           \
	F(co_names)            \
	F(co_varnames) F(co_freevars) F(co_cellvars) F(co_filename) F(co_name) COMPAT_CODE_LINES(F)
#define COMPAT_CODE_NUMBERS(F) \
	F(co_flags) F(co_argcount) F(co_kwonlyargcount) F(co_firstlineno) F(co_nlocals)
#endif

/* Before a version's first release its structs change without notice: then only the very same will do. */
static inline bool compat_is_release(void)
{
	enum { CANDIDATE = 0xC0, LEVEL = 0xF0 };
	PyObject *said = PySys_GetObject("hexversion");
	long hex = said && PyLong_Check(said) ? PyLong_AsLong(said) : 0;

	return hex == PY_VERSION_HEX ||
		(hex >> 16 == PY_VERSION_HEX >> 16 && (hex & LEVEL) >= CANDIDATE &&
			(PY_VERSION_HEX & LEVEL) >= CANDIDATE);
}

/* The calling thread's, by the interpreter's own word. */
static inline PyInterpreterState *compat_interpreter(void)
{
#if PY_VERSION_HEX >= 0x03090000
	return PyInterpreterState_Get();
#else
	return _PyInterpreterState_Get();
#endif
}

/* The next thread whose frames stand still while the caller holds the GIL; NULL: there is no further one. Where there is no GIL, only
 * those of the calling thread do. */
static inline PyThreadState *compat_next_still(PyThreadState *after)
{
#ifdef Py_GIL_DISABLED
	return after ? NULL : compat_thread();
#else
	return after ? PyThreadState_Next(after)
		     : PyInterpreterState_ThreadHead(compat_interpreter());
#endif
}

static inline bool compat_is_thread_id(PyThreadState *thread)
{
#if PY_VERSION_HEX >= 0x03090000
	return thread->id == PyThreadState_GetID(thread);
#else
	(void)thread; /* which nobody tells */
	return true;
#endif
}

/* Whether both are the same activation. */
static inline bool compat_is_frame(PyFrameObject *frame, compat_frame *leaf)
{
#if PY_VERSION_HEX >= 0x030C0000
	(void)frame; /* is never looked into */
	return leaf == compat_activation();
#elif PY_VERSION_HEX >= 0x030B0000
	return frame->f_frame == leaf;
#else
	return frame == leaf;
#endif
}

/* What compat_local() takes for the running frame. */
static inline const void *compat_activation_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030C0000
	(void)frame;
	return compat_activation();
#else
	return frame;
#endif
}

/* A number's digits; or up to 3.11 where a generator keeps its frame. */
static inline bool compat_are_parts_good(void)
{
#if PY_VERSION_HEX >= 0x030C0000
	PyObject *seven = PyLong_FromLong(7);
	bool is_good = seven && compat_small_int(seven) == 7;

	Py_XDECREF(seven);
	return is_good;
#elif PY_VERSION_HEX >= 0x030B0000
	PyObject *space = PyDict_New();
	PyObject *generator =
		space ? PyRun_String("(_ for _ in ())", Py_eval_input, space, space) : NULL;
	PyObject *frame = generator ? PyObject_GetAttrString(generator, "gi_frame") : NULL;
	bool is_good = frame &&
		(void *)((PyFrameObject *)frame)->f_frame ==
			(void *)((PyGenObject *)generator)->gi_iframe;

	Py_XDECREF(frame);
	Py_XDECREF(generator);
	Py_XDECREF(space);
	return is_good;
#else
	return true;
#endif
}

#pragma GCC visibility pop

#endif
