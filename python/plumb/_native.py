# SPDX-License-Identifier: MIT
"""The C library through ctypes: one table of structs, one of functions, one of status codes.

A field or a struct that the headers gain is one more word here; tests/python/test_layout.py compiles the
headers and compares every offset with this table, so a mistake cannot pass unseen."""
import atexit
import ctypes
import os
import threading
from pathlib import Path

MAX_DIMS = 32
SCORERS = ("plain", "naive", "knn", "iforest", "ocsvm", "pca", "mahalanobis", "knn-log", "lr")
DTYPES = ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "bool")

# name:type, in the order of the header. A type is a letter of LETTERS, the name of a struct above,
# either with a * (a pointer) or a number (an array) behind it.
LETTERS = {"z": ctypes.c_size_t, "i": ctypes.c_int, "q": ctypes.c_int64, "Q": ctypes.c_uint64,
           "d": ctypes.c_double, "b": ctypes.c_bool, "s": ctypes.c_char_p, "p": ctypes.c_void_p,
           "B": ctypes.c_uint8}
STRUCTS = {
    "named_array": "name:s array:array",
    "interval": "low:d high:d",
    "symetric_training": "width:q parameters:q trajectories:q points:q loss:d r2:d components:q",
    "symetric":
        "r2:d sym:d symetric:d r2_heldout:d rho:d degenerate:b why:s order:i order_limit:i alpha:d trajectories:q "
        "dropped:q steps:q n:q m:q unconverged:q r2_ci:interval sym_ci:interval symetric_ci:interval "
        "r2_heldout_ci:interval latents:q latents_used:q* informative:q items:p batches:p batch_count:q mode:i "
        "seconds:d input_hash:B33 memory:p method:i training:symetric_training maps:p",
    "kappa":
        "measured:b kappa:d kappa_ci:interval kappa_constants:d kappa_constants_ci:interval canonical:i why:s hint:s score:d r2_state:d r2_coordinates:d* r2_latent:d r2_local:d r2_nearest:d "
        "c:d form_error:d form_low:d form_high:d resolution:d symplectic_r2:d symplectic:d symplectic_ci:interval symplectic_why:s n:q m:q n_used:q reduced:s pairs:d* items:p trajectories:q "
        "dropped:q diverged_count:q diverged:q* steps:q seconds:d input_hash:B33 memory:p",
    "flow_input": "size:z latent:array* truth:array* energy:array* action:array*",
    "flow":
        "measured:b verdict:i why:s lag:q kappa:d area_rate:d area_rate_ci:interval volume_rate:d true_area_rate:d "
        "area_change:d area_change_ci:interval energy_change:d energy_change_ci:interval clock:d clock_ci:interval r2:d "
        "r2_clock:d trajectories:q steps:q driven:b seconds:d memory:p",
    "loops":
        "cosine:d cosine_ci:interval slope:d slope_ci:interval loops:q states:q true_action:d* latent_action:d* memory:p",
    "phase_space_input":
        "size:z latent:array* variance:array* momenta:array* truth:array* canonical:array* energy:array* action:array*",
    "phase_space":
        "verdict:i why:s coordinates:i has_polynomial:b has_network:b polynomial:symetric network:symetric kappa:kappa "
        "flow:flow sym_floor:d canonical_dims:q memory:p",
    "lyapunov": "exponent:d ci:interval why:s",
    "forecast_mse":
        "relative:d published:d ci:interval published_ci:interval first:q frames:q why:s "
        "per_trajectory:d*",
    "forecast_still": "vpt:d error:d",
    "forecast_direction":
        "measured:b rec:forecast_mse ext:forecast_mse full:forecast_mse vpt:d vpt_relative:d "
        "vpt_published:d vpt_ci:interval length:q vpt_per_trajectory:d* first:q frames:q errors:d* "
        "black:q vpt_mean:d vpt_median:d mean_frame:forecast_still last_frame:forecast_still still_threshold:d vpt_above_still:d",
    "forecast":
        "forward:forecast_direction backward:forecast_direction vpt:d vpt_relative:d vpt_ci:interval "
        "vpt_per_trajectory:d* trajectories:q steps:q height:q width:q channels:q lyapunov:lyapunov seconds:d "
        "input_hash:B33 memory:p vpt_mean:d vpt_median:d vpt_above_still:d mean_frame:forecast_still last_frame:forecast_still",
    "state_forecast_input": "size:z prediction:array* truth:array* energy:array* prediction_energy:array*",
    "state_forecast_value": "value:d ci:interval",
    "state_forecast_baseline": "vrmse:d vpt:d",
    "state_forecast":
        "mse:state_forecast_value rmse:state_forecast_value nrmse:state_forecast_value vrmse:state_forecast_value "
        "smape:state_forecast_value column_mse:d* column_nrmse:d* column_vrmse:d* column_smape:d* errors:d* step_vrmse:d* "
        "vpt:state_forecast_value vpt_median:d vpt_per_trajectory:d* last:state_forecast_baseline linear:state_forecast_baseline "
        "mean:state_forecast_baseline lyapunov:lyapunov energy_drift:d energy_drift_truth:d crps:d energy_score:d samples:q "
        "diverged:q trajectories:q steps:q scored:q space:q columns:q seconds:d input_hash:B33 memory:p",
    "dynamics_input": "size:z latent:array* encoded:array* truth:array* energy:array* angles:b* action:array*",
    "dynamics_conserved": "measured:b truth:d encoded:d rollout:d trend:d share:d",
    "dynamics":
        "verdict:i why:s r2:d r2_worst:d motion:state_forecast floor:state_forecast growth:d growth_lyapunov:d "
        "energy:dynamics_conserved found:dynamics_conserved histogram:d histogram_floor:d spectrum:d spectrum_floor:d "
        "phase_rate:d range:d seconds:d input_hash:B33 memory:p flow:flow unencoded_before:q unencoded_after:q driven:b hint:s",
    "probe_target": "name:s array:array* columns:s* angles:b*",
    "probe_input":
        "size:z latent:array* targets:probe_target* target_count:q lengths:array* frames:array* action:array* ood:array* offsets:array*",
    "probe_score":
        "r2:d r2_ci:interval r:d r_ci:interval nmse:d nmse_ci:interval penalty:d",
    "probe_line":
        "name:s group:s angle:b constant:b linear:probe_score nonlinear:probe_score found:i shuffled:d shuffled_max:d "
        "nonlinear_shuffled:d nonlinear_shuffled_max:d fractions:d3 past:d projection:d pixels:d action:d ood:probe_score",
    "probe":
        "r2:d r2_nonlinear:d line:probe_line* count:q group:probe_line* group_count:q trajectories:q steps:q dims:q rows:q "
        "nonlinear_rows:q folds:q ood_fitted:q ood_tested:q ood_limit:d fitted:q4 seconds:d input_hash:B33 memory:p fold:q* hint:s",
    "surprise_input":
        "size:z surprise:array* truth:array* prediction:array* feature:array* observation:array* "
        "surprise_naive:array* concepts:array* error_unit:array* motion:array* observation_concepts:array*",
    "surprise_metrics":
        "tuples:q correct:q ties:q accuracy:d accuracy_ci:interval accuracy_wilson:interval chance_p:d "
        "relative_surprise:d relative_ci:interval difference:d difference_ci:interval t:d t_p:d "
        "pairwise:d permutation_p:d matched:d matched_strict:d midpoint:d auroc:d auroc_ci:interval "
        "auprc:d auprc_possible:d threshold:d type1:d type2:d threshold_90:d accuracy_90:d "
        "best_threshold:d best_accuracy:d",
    "surprise_ratio":
        "measured:b log_threshold:d type1:d type2:d accuracy:d auroc:d best_log_threshold:d "
        "best_accuracy:d log_ratio:d* posterior:d* posterior_mean:d2 brier:d calibration_error:d "
        "calibration_said:d10 calibration_found:d10 calibration_clips:q10 concepts:q sets:q temperature:d* "
        "weight:d* dimension:d* frame_variances:b scene_variances:b",
    "surprise_decision": "measured:b threshold:d accuracy:d type1:d type2:d power:d",
    "surprise_motion":
        "measured:b tuples:q matched:q matched_right:q matched_accuracy:d matched_wilson:interval "
        "adjusted_accuracy:d alone_accuracy:d",
    "surprise_score":
        "scorer:i measured:b why:s gamma:d all:surprise_metrics concepts:p has_maximum:b "
        "maximum:surprise_metrics score:d* distance:d* seconds:d decision:surprise_decision "
        "level:surprise_decision motion:surprise_motion",
    "surprise_clips": "possible:q impossible:q auroc:d auroc_ci:interval decision:surprise_decision",
    "surprise_losses":
        "surprise:array has_concepts:b concepts:array pairs:b padded:q groups:q expanded:b skipped:q plausible:b "
        "has_motion:b motion:array single:b clips:array possible:array files:q repeated:q memory:p",
    "surprise_study_row":
        "property:s context:s frame_step:q file:s mean:d maximum:d auroc_mean:d auroc_maximum:d",
    "surprise_study_property":
        "name:s pairs:q rows:q mean:d maximum:d mean_context:s maximum_context:s mean_corrected:d maximum_corrected:d",
    "surprise_study":
        "properties:surprise_study_property* property_count:q rows:surprise_study_row* row_count:q mean:d maximum:d "
        "mean_corrected:d maximum_corrected:d files:q repeated:q padded:q memory:p",
    "surprise_test": "statistic:d p:d",
    "surprise_uniformity":
        "measured:b why:s exact:surprise_test paper:surprise_test paper_chi:surprise_test "
        "histogram:q20 least:d greatest:d cap_log10:d clips:q",
    "surprise":
        f"scorers:surprise_score{len(SCORERS)} ratio:surprise_ratio uniformity:surprise_uniformity pairs:p "
        "pair_count:q tuples:q tested:q tested_tuple:q* observed:q split:b dims:q concept_count:q "
        "concept_names:p concept_of:q* frames:q frame_surprise:d* zero_features:q equal_observations:q "
        "concept_uniformity:p k:q least_observed:q error_unit:i joined:i seconds:d input_hash:B33 memory:p",
    "compare_result": "model:p models:q pair:p pairs:q items:q memory:p",
    "world_parameter": "name:s count:q integer:b",
    "world_info":
        "name:s summary:s n:q canonical_n:q dt:d height:q width:q channels:q upright:b reversible:b "
        "parameters:world_parameter* parameter_count:q state_names:s* canonical_names:s* angles:b* "
        "parameter_total:q kind:i clips:q steps:q concept_name:s event_names:s* actions:q",
    "world_item":
        "time:p state:p derivative:p canonical:p energy:p parameters:p frames:p mask:p camera:p objects:p cut:p "
        "event_counts:p action:p",
    "world_quantity": "name:s columns:q column_names:s*",
    "loader_batch": "index:q frames:p state:p canonical:p time:p",
    "evaluation_dynamics": "latents:q forecast:forecast phase_space:phase_space network_why:B256 frames:i inference:q target:q latent_names:B512",
    "evaluation_loops_options": "size:z loops:q loop_states:q world:s threads:i",
    "evaluation_errors": "clips:q model:d baselines:d3",
    "evaluation_video":
        "surprise:surprise baselines:surprise3 free_clips:evaluation_errors possible:evaluation_errors* "
        "more:surprise more_baselines:surprise3 more_possible:evaluation_errors*",
    "evaluation":
        "model:B64 world:B512 training_steps:q kind:i dynamics:evaluation_dynamics video:evaluation_video seconds:d "
        "memory:p",
    "training_progress": "step:q steps:q loss:d steps_per_second:d seconds:d seconds_left:d",
    "training_cost":
        "model:B64 preset:B16 data:B512 parameters:q steps:q batch:q replicas:q videos:q frames:q height:q width:q channels:q "
        "video_bytes:d bytes:d step_core_seconds:d threads:i seconds:d",
    "training":
        "model:B64 steps:q finished:b loss:d seconds:d run:B4096 input_dependence:d warning:B256 best_validation:d best_step:q",
    "audit_splice": "present:b frames_hold:q pairs_hold:q bad_tuple:q bad_time:q",
    "audit_classifier": "accuracy:d accuracy_ci:interval tuple_accuracy:d tuple_ci:interval leak:b",
    "audit":
        "tuples:q steps:q identical:q frames:audit_splice mask:audit_splice camera:audit_splice judged:q "
        "frame:audit_classifier pair:audit_classifier clean:b",
    "image_size": "width:q height:q",
}

# Options structs, which the library describes member by member through plumb_option_info_at. A struct comes
# after those it points to.
DESCRIBED = ("world_options", "loader_options", "symetric_options", "kappa_options", "flow_options", "loops_options", "phase_space_options",
             "forecast_options", "surprise_options", "surprise_losses_options",
              "probe_options", "state_forecast_options", "dynamics_options", "compare_options", "evaluation_options", "rollout_options", "report_options",
             "training_options", "audit_options", "dataset_write_options", "dataset_simulate_options", "item_figure_options")
WORDS = {}  # (struct, member): the words of an enum

types = {}


def _type(word):
    base = word.rstrip("*0123456789")
    rest = word[len(base):]
    kind = LETTERS.get(base) or types[base]
    if rest == "*":
        return ctypes.POINTER(kind)
    return kind * int(rest) if rest else kind


def _load():
    here = Path(__file__).parent / "lib/libplumb.so"
    path = os.environ.get("PLUMB_LIBRARY") or str(here)
    try:
        return ctypes.CDLL(path)
    except OSError as why:
        raise ImportError(f"{path}: {why}; install the package with pip, or name the library in PLUMB_LIBRARY") from None


lib = _load()


class OptionInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("offset", ctypes.c_size_t),
                ("words", ctypes.POINTER(ctypes.c_char_p)), ("low", ctypes.c_double), ("high", ctypes.c_double),
                ("help", ctypes.c_char_p), ("type", ctypes.c_char_p)]


lib.plumb_option_info_at.restype = ctypes.c_bool
lib.plumb_option_info_at.argtypes = [ctypes.POINTER(OptionInfo), ctypes.c_char_p, ctypes.c_int64]
KINDS = "bsiqQdi"  # letters of plumb_option_kind, without the pointer


def _describe(struct):
    """The members of an options struct as (name, ctype), and its enums into WORDS."""
    members, info = [(0, "size", ctypes.c_size_t)], OptionInfo()
    for index in range(1000):
        if not lib.plumb_option_info_at(ctypes.byref(info), struct.encode(), index):
            break
        name = info.name.decode()
        if info.kind < len(KINDS):
            kind = LETTERS[KINDS[info.kind]]
        else:
            word = info.type.decode()
            base, _, count = word.rstrip("]").partition("[")
            base = {"bool": "b", "double": "d", "string": "s"}.get(base, base)
            # Callbacks and what they are given are addresses.
            kind = ctypes.c_void_p if base in ("function", "void") else _type(base + (count or "*"))
        if info.words:
            words = []
            while info.words[len(words)]:
                words.append(info.words[len(words)].decode())
            WORDS[struct, name] = tuple(words)
        members.append((info.offset, name, kind))
    return [(name, kind) for _, name, kind in sorted(members, key=lambda member: member[0])]


def _structure(name, fields):
    types[name] = type(name, (ctypes.Structure,), {"_fields_": fields})


_structure("array", [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("ndim", ctypes.c_int),
                     ("shape", ctypes.c_int64 * MAX_DIMS)])
for _name in DESCRIBED:
    _structure(_name, _describe(_name))
for _name, _fields in STRUCTS.items():
    _structure(_name, [(f.split(":")[0], _type(f.split(":")[1])) for f in _fields.split()])


# ---- what can go wrong ----

class PlumbError(Exception):
    """Anything the library refuses; the text is its own message, one line."""


class FileError(PlumbError, OSError):
    """A file cannot be opened, read or written."""


class FormatError(PlumbError, ValueError):
    """A file is not what it says it is."""


class ShapeError(PlumbError, ValueError):
    """An array has the wrong shape or type."""


class RangeError(PlumbError, ValueError):
    """An option or a number is outside its range."""


class NumericError(PlumbError, ArithmeticError):
    """The measure is not defined for these numbers."""


class OutOfMemoryError(PlumbError, MemoryError):
    """Not enough memory."""


class MissingError(PlumbError, NotImplementedError):
    """This build or this machine lacks a part that is needed."""


class StoppedError(PlumbError, RuntimeError):
    """Stopped on request."""


# In the order of the list in plumb/status.h, without OK.
ERRORS = {"EFILE": FileError, "EFORMAT": FormatError, "ESHAPE": ShapeError, "EVALUE": RangeError,
          "ENUMERIC": NumericError, "EMEMORY": OutOfMemoryError, "EMISSING": MissingError,
          "ESTOPPED": StoppedError}


# ---- the library ----

# Result, name, arguments: as _type reads them, "" nothing.
FUNCTIONS = """
s plumb_version
s plumb_last_error
  plumb_set_stop_flag i*
p plumb_record_create
  plumb_record_free p
i plumb_record_to_json s* p
  plumb_symetric_options_init symetric_options* z
i plumb_symetric_measure symetric* array* array* array* symetric_options*
  plumb_symetric_clear symetric*
  plumb_symetric_record p symetric* symetric_options*
  plumb_kappa_options_init kappa_options* z
i plumb_kappa_measure kappa* array* array* array* kappa_options*
  plumb_kappa_clear kappa*
  plumb_kappa_record p kappa* kappa_options*
  plumb_flow_options_init flow_options* z
i plumb_flow_measure flow* flow_input* flow_options*
  plumb_flow_clear flow*
  plumb_flow_record p flow*
  plumb_loops_options_init loops_options* z
i plumb_loops_measure loops* array* array* array* loops_options*
  plumb_loops_clear loops*
  plumb_loops_record p loops*
  plumb_phase_space_options_init phase_space_options* z
i plumb_phase_space_fit_momenta p array*
i plumb_phase_space_measure phase_space* phase_space_input* phase_space_options*
  plumb_phase_space_clear phase_space*
  plumb_phase_space_record p phase_space* phase_space_options*
  plumb_forecast_options_init forecast_options* z
i plumb_forecast_measure forecast* array* array* array* array* forecast_options*
  plumb_forecast_clear forecast*
  plumb_forecast_record p forecast* forecast_options*
  plumb_state_forecast_options_init state_forecast_options* z
i plumb_state_forecast_measure state_forecast* state_forecast_input* state_forecast_options*
  plumb_state_forecast_clear state_forecast*
  plumb_state_forecast_record p state_forecast* state_forecast_options*
  plumb_dynamics_options_init dynamics_options* z
i plumb_dynamics_measure dynamics* dynamics_input* dynamics_options*
  plumb_dynamics_clear dynamics*
  plumb_dynamics_record p dynamics* dynamics_options*
  plumb_compare_options_init compare_options* z
i plumb_compare_create p*
  plumb_compare_free p
i plumb_compare_add p s p q
i plumb_compare_measure compare_result* p compare_options*
  plumb_compare_result_clear compare_result*
  plumb_compare_record p compare_result* compare_options*
  plumb_probe_options_init probe_options* z
i plumb_probe_measure probe* probe_input* probe_options*
  plumb_probe_clear probe*
  plumb_probe_record p probe* probe_options*
  plumb_surprise_options_init surprise_options* z
i plumb_surprise_measure surprise* surprise_input* surprise_options*
  plumb_surprise_clear surprise*
  plumb_surprise_record p surprise* surprise_options*
  plumb_surprise_losses_options_init surprise_losses_options* z
i plumb_surprise_losses_read surprise_losses* s surprise_losses_options*
  plumb_surprise_losses_clear surprise_losses*
i plumb_surprise_study_measure surprise_study* s surprise_losses_options*
  plumb_surprise_study_record p surprise_study*
  plumb_surprise_study_clear surprise_study*
i plumb_surprise_clips_measure surprise_clips* array* array* surprise_options*
  plumb_surprise_clips_record p surprise_clips*
  plumb_surprise_counterexample_record p
  plumb_surprise_example_record p d
q plumb_world_count
p plumb_world_at q
i plumb_world_find p* s
world_info* plumb_world_get_info p
  plumb_world_options_init world_options* z
i plumb_world_check_options p q world_options*
i plumb_world_simulate world_item* p Q q q world_options*
i plumb_world_simulate_from world_item* p p p q world_options*
q plumb_world_quantity_count p
b plumb_world_quantity_at world_quantity* p q
i plumb_world_quantity_compute p p q p q p
  plumb_loader_options_init loader_options* z
i plumb_loader_open p* p loader_options*
i plumb_loader_next loader_batch* p
  plumb_loader_close p
  plumb_evaluation_options_init evaluation_options* z
i plumb_evaluation_set_protocol evaluation_options* symetric_options* forecast_options* i
  plumb_evaluation_loops_options_init evaluation_loops_options* z
i plumb_evaluation_loops loops* s evaluation_loops_options*
i plumb_evaluation_measure evaluation* s evaluation_options*
  plumb_evaluation_clear evaluation*
  plumb_evaluation_record p evaluation* evaluation_options*
  plumb_rollout_options_init rollout_options* z
i plumb_rollout_save s s rollout_options*
i plumb_report_create p*
  plumb_report_free p
i plumb_report_add_record p s s
i plumb_report_add_arrays p s named_array* q
  plumb_report_options_init report_options* z
i plumb_report_add_path p s report_options*
i plumb_report_save_figure p s s
i plumb_report_figure_svg s* p s
i plumb_report_save p s
i plumb_system_threads
  plumb_system_record p
  plumb_set_progress p p
  plumb_set_log p p
  plumb_training_options_init training_options* z
i plumb_training_run training* training_options*
i plumb_training_plan p training_options*
i plumb_training_estimate training_cost* p training_options*
i plumb_weights_import s training_options*
i plumb_weights_export s s
s plumb_model_name q
i plumb_dataset_open p* s s
  plumb_dataset_close p
  plumb_dataset_write_options_init dataset_write_options* z
  plumb_dataset_simulate_options_init dataset_simulate_options* z
i plumb_dataset_simulate s p dataset_simulate_options*
i plumb_dataset_convert q* s s s dataset_write_options*
  plumb_audit_options_init audit_options* z
i plumb_audit_measure audit* p audit_options*
  plumb_audit_record p audit* audit_options*
  plumb_item_figure_options_init item_figure_options* z
i plumb_item_figure_save image_size* s p q item_figure_options*
i plumb_file_open p* s
  plumb_file_close p
q plumb_file_array_count p
s plumb_file_array_name p q
i plumb_file_read_array array* p s
i plumb_file_write s named_array* q b
i plumb_evaluation_save s evaluation* evaluation_options*
"""
for _line in FUNCTIONS.strip("\n").split("\n"):
    _result, _name, *_arguments = _line.replace("  plumb", "- plumb", 1).split()
    _function = getattr(lib, _name)
    _function.restype = None if _result == "-" else _type(_result)
    _function.argtypes = [_type(word) for word in _arguments]



class Handle:
    """An object of the library. It is freed when nobody uses it any more; a call that was left behind still does."""

    def __init__(self, free):
        self._as_parameter_ = ctypes.c_void_p()
        self._free = free

    def __bool__(self):
        return bool(self._as_parameter_)

    def __del__(self):
        if self:
            self._free(self._as_parameter_)


def new_result(kind):
    """A struct for a result. What the library puts into it is freed with it."""
    clear = getattr(lib, f"plumb_{kind}_clear")
    # A class of its own: a part of a larger result has the plain one, and must not be freed.
    owner = type(kind, (types[kind],), {"__del__": lambda self: clear(ctypes.byref(self))})
    return owner()


PATIENCE = 0.9  # seconds that Ctrl-C waits for a call to stop by itself


_left_behind = []  # events of the calls that were interrupted


@atexit.register
def _wait_for_calls():
    """Interrupted calls end before the interpreter does: libraries cannot shut down while they are in use."""
    for done in _left_behind:
        done.wait(10)


def call(function, *arguments, stop=None, patience=PATIENCE):
    """Calls a function that returns a status; a failure becomes an exception.

    The work runs on a thread of its own, so that the main thread can hear Ctrl-C, and has a flag of its own to stop it, which
    a callback may set. A call that does not stop in `patience` seconds is left behind: it keeps its arguments alive until it
    returns."""
    stop = stop if stop is not None else ctypes.c_int(0)
    if threading.current_thread() is not threading.main_thread():
        lib.plumb_set_stop_flag(stop)
        try:
            return _check(function(*arguments), None)
        finally:
            lib.plumb_set_stop_flag(None)
    answer, done = [], threading.Event()

    def work():
        lib.plumb_set_stop_flag(stop)
        status = function(*arguments)
        answer.append((status, lib.plumb_last_error() if status else b""))
        done.set()

    try:
        threading.Thread(target=work, daemon=True).start()
        while not done.wait(0.1):  # not Thread.join, which an interrupt breaks before Python 3.13
            pass
    except BaseException:  # Ctrl-C, or what another signal handler raises
        stop.value = 1
        _left_behind.append(done)
        done.wait(patience)
        raise
    return _check(*answer[0])


def _check(status, message):
    if status:
        text = (message if message is not None else lib.plumb_last_error()).decode("utf-8", "replace")
        raise list(ERRORS.values())[status - 1](text)


def record(fill, *arguments):
    """What a function writes into a record, as JSON text."""
    handle = lib.plumb_record_create()
    if not handle:
        raise OutOfMemoryError("no memory for a record")
    try:
        fill(handle, *arguments)
        text = ctypes.c_char_p()
        _check(lib.plumb_record_to_json(ctypes.byref(text), handle), None)
        return text.value.decode()
    finally:
        lib.plumb_record_free(handle)
