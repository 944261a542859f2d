# SPDX-License-Identifier: MIT
"""Files as torch.save writes them, made by Python's own pickle and zipfile with stand-ins for the classes of PyTorch, and scored
by plumb surprise; then the same files damaged at every byte."""
import collections
import io
import os
import pickle
import subprocess
import sys
import types
import zipfile

import numpy as np
import pytest

from paths import LONG, SANITIZE, SOURCE
from program import Program, numbers

plumb = Program("surprise")
answer, refused = plumb.answer, plumb.refused
CLIPS, CONTEXTS, WINDOWS = 40, 3, 11

# What a pickle of a tensor names. The modules exist only here.
torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
sys.modules["torch"], sys.modules["torch._utils"] = torch, utils
torch._utils = utils
KINDS = {"f8": "DoubleStorage", "f4": "FloatStorage", "f2": "HalfStorage", "i8": "LongStorage", "i4": "IntStorage", "i2": "ShortStorage",
         "i1": "CharStorage", "u1": "ByteStorage", "b1": "BoolStorage"}
for kind in KINDS.values():
    setattr(torch, kind, type(kind, (), {"__module__": "torch"}))


def _rebuild_tensor_v2(*arguments):
    raise AssertionError("never called")


_rebuild_tensor_v2.__module__ = "torch._utils"
utils._rebuild_tensor_v2 = _rebuild_tensor_v2


class Storage:
    def __init__(self, array):
        self.array = array


class Tensor:
    """A view of a storage, as torch has it."""

    def __init__(self, array, strides=None, shape=None, offset=0, storage=None):
        self.storage = storage or Storage(np.ascontiguousarray(array).reshape(-1))
        self.shape = tuple(array.shape if shape is None else shape)
        self.strides = strides or tuple(s // array.itemsize for s in np.ascontiguousarray(array).strides)
        self.offset = offset

    def __reduce__(self):
        return (utils._rebuild_tensor_v2, (self.storage, self.offset, self.shape, self.strides, False, collections.OrderedDict()))


class Pickler(pickle.Pickler):
    def __init__(self, file, protocol=2):
        super().__init__(file, protocol)
        self.storages = []

    def persistent_id(self, thing):
        if not isinstance(thing, Storage):
            return None
        if thing not in self.storages:
            self.storages.append(thing)
        kind = KINDS[thing.array.dtype.str[1:]]
        return ("storage", getattr(torch, kind), str(self.storages.index(thing)), "cpu", thing.array.size)


def save(path, thing, protocol=2, pickled=None, order=b"little"):
    f = io.BytesIO()
    p = Pickler(f, protocol)
    p.dump(thing)
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("losses/data.pkl", pickled or f.getvalue())
        z.writestr("losses/byteorder", order)
        for i, storage in enumerate(p.storages):
            z.writestr(f"losses/data/{i}", storage.array.tobytes())
        z.writestr("losses/version", "3\n")
    return path


class Study:
    """Losses of 40 clips in the layout of the V-JEPA study."""

    def __init__(self):
        self.rng = np.random.default_rng(3)
        self.loss = self.rng.gamma(3.0, 0.1, (CLIPS, CONTEXTS, WINDOWS)).astype(np.float32)
        self.labels = np.tile([1, 0, 0, 1], CLIPS // 4)  # the second pair the other way round
        self.loss[self.labels == 0] += 0.05
        self.thing = {"block": "O2", "frame_step": 2, "context_lengths": [2, 4, 6], "losses": Tensor(self.loss), "labels": Tensor(self.labels)}
        self.possible, self.impossible = (self.loss[self.labels == label].astype(float) for label in (1, 0))


@pytest.fixture
def study():
    return Study()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "losses.pth"


# ---- the published layouts ----

@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("context", [-1, 0, 2])
def test_the_relative_accuracies_are_those_of_the_v_jepa_study(study, path, protocol, context):
    save(path, study.thing, protocol)
    got = answer(path, "--context", context)["scorers"]["plain"]
    p, q = ((x.min(1) if context < 0 else x[:, context]) for x in (study.possible, study.impossible))
    assert abs(got["benchmarks"]["vjepa"]["relative_accuracy"] - (p.mean(1) < q.mean(1)).mean()) < 1e-12
    assert abs(got["maximum"]["benchmarks"]["vjepa"]["relative_accuracy"] - (p.max(1) < q.max(1)).mean()) < 1e-12
    assert abs(got["auroc"] - (q.mean(1)[:, None] > p.mean(1)).mean()) < 1e-12
    sums = [x.mean(1).reshape(-1, 2).sum(1) for x in (p, q)]
    assert abs(got["accuracy"] - (sums[1] > sums[0]).mean()) < 1e-12, "tuples of four"


def test_strides_and_types_change_no_number(study, tmp_path):
    want = numbers(answer(save(tmp_path / "plain.pth", study.thing)))
    # A transposed view of a larger storage.
    wide = np.zeros((WINDOWS + 1, CONTEXTS, CLIPS), np.float32)
    wide[1:] = study.loss.transpose(2, 1, 0)
    view = Tensor(wide, shape=study.loss.shape, strides=(1, CLIPS, CLIPS * CONTEXTS), offset=CLIPS * CONTEXTS)
    changed = {**study.thing, "losses": view, "labels": Tensor(study.labels.astype(np.int8))}
    assert numbers(answer(save(tmp_path / "view.pth", changed))) == want
    for kind in ("i4", "i2", "u1", "b1", "f8", "f4"):
        changed = {**study.thing, "labels": Tensor(study.labels.astype(kind))}
        assert numbers(answer(save(tmp_path / "kind.pth", changed))) == want, kind


def test_files_that_pytorch_itself_saved_are_read(tmp_path):
    # PyTorch 1.13: two layouts, one of them with a view of a storage and NumPy text.
    for name in ("losses", "names"):
        (tmp_path / f"{name}.pth").write_bytes((SOURCE / f"fuzz/corpus/pth/torch-1.13-{name}").read_bytes())
    got = answer(tmp_path / "losses.pth")
    assert got["scorers"]["plain"]["accuracy"] == 1 and got["n"] == 2 and got["frames"] == 5
    (tmp_path / "real.csv").write_text("file_name,SceneIndex,type,condition\n" + "".join(
        f"a{i}.mp4,{i // 4},{i // 2 % 2 + 1}_{'Imp' if i % 2 else 'P'}ossible,solidity\n" for i in range(8)))
    got = answer(tmp_path / "names.pth", "--metadata", tmp_path / "real.csv")
    assert got["scorers"]["plain"]["accuracy"] == 1 and got["n"] == 2 and got["frames"] == 4


def test_other_blocks_are_pairs_and_padding_does_not_count(study, path):
    padded = np.concatenate([study.loss, np.zeros((CLIPS, CONTEXTS, 4), np.float32)], 2)
    padded[0, :, WINDOWS:] = 0.7
    save(path, {**study.thing, "block": "gravity", "losses": Tensor(padded)})
    assert "39 clips are shorter" in plumb.run(path, "--json").stderr
    got = answer(path)["scorers"]["plain"]
    p, q = (np.array([x[x != 0].mean() for x in padded[study.labels == label].min(1).astype(float)]) for label in (1, 0))
    assert got["tuples"] == CLIPS // 2 and abs(got["accuracy"] - (q > p).mean()) < 1e-12


def test_intphys_2_is_read_with_its_table_of_clips(study, tmp_path):
    kinds = ["1_Possible", "1_Impossible", "2_Possible", "2_Impossible"]
    names = [f"clip{i:03d}.mp4" for i in range(CLIPS)]
    order = study.rng.permutation(CLIPS)
    table = "file_name,SceneIndex,type,condition,Difficulty\n" + "".join(
        f'Videos/{names[i]},{i // 4},{kinds[i % 4]},"{["solidity", "permanence"][i // 20]}",Easy\n' for i in range(CLIPS))
    (tmp_path / "metadata.csv").write_text(table)
    second = save(tmp_path / "second.pth", {"frame_step": 2, "num_frames_to_pred": 8, "context_lengths": [2],
                                            "losses": Tensor(study.loss[order]), "names": np.array(names)[order]})
    got = answer(second, "--metadata", tmp_path / "metadata.csv")
    by_clip = study.loss.min(1).astype(float).mean(1).reshape(-1, 2, 2)  # scene, pair, possible or not
    each = (by_clip[:, :, 1].sum(1) > by_clip[:, :, 0].sum(1))
    assert abs(got["scorers"]["plain"]["accuracy"] - (each[:5].mean() + each[5:].mean()) / 2) < 1e-12
    assert sorted(c["name"] for c in got["concepts"]) == ["permanence", "solidity"]
    refused("metadata.csv that says what its clips are", second)
    (tmp_path / "short.csv").write_text(table.rsplit("\n", 5)[0] + "\n")
    refused("is not in the table", second, "--metadata", tmp_path / "short.csv")
    (tmp_path / "bare.csv").write_text("name,type\n" + "".join(f"{name},1_Possible\n" for name in names))
    refused("has no column", second, "--metadata", tmp_path / "bare.csv")


# ---- a folder of a study ----

def study_table(loss, labels):
    """The relative accuracies of the study's script for each context and for the least loss of all, in both reductions."""
    rows = [loss[:, c] for c in range(loss.shape[1])] + [loss.min(1)]
    return np.array([[(x[labels == 1].mean(1) < x[labels == 0].mean(1)).mean(), (x[labels == 1].max(1) < x[labels == 0].max(1)).mean()]
                     for x in rows])


def best_by_folds(rights, scenes):
    """The share of right pairs if the row for a fifth of the scenes is the best one of the other four."""
    kept = [rights[rights[:, scenes % 5 != f].sum(1).argmax()][scenes % 5 == f] for f in range(5)]
    return np.concatenate(kept).mean()


def test_a_folder_gives_the_table_of_the_study(tmp_path):
    rng, want, folder = np.random.default_rng(8), {}, tmp_path / "vit" / "intphys" / "raw_surprises"
    folder.mkdir(parents=True)
    for block, clips in (("O1", 40), ("O2", 80), ("gravity", 30)):
        steps = []
        for step in (10, 2):  # the order of the files' names, in which the first of equals is the best
            loss = rng.gamma(3.0, 0.1, (clips, CONTEXTS, WINDOWS))
            labels = np.tile([1, 0, 0, 1], clips)[:clips]
            loss[labels == 0] += 0.02 * step ** 0.5
            if block == "gravity":
                loss[::3, :, -2:] = 0  # the study's mean counts the padding
            save(folder / f"losses_{block}_{step}fs_2_4_6ctxt.pth",
                 {"block": block, "frame_step": step, "context_lengths": [2, 4, 6], "losses": Tensor(loss), "labels": Tensor(labels)})
            steps.append((loss, labels))
        scenes = np.arange(clips // 2) // (2 if block[0] == "O" else 1)
        cells = np.concatenate([study_table(*s) for s in steps])
        rights = [np.array([f(x[l == 1]) < f(x[l == 0]) for loss, l in steps for x in [*loss.transpose(1, 0, 2), loss.min(1)]])
                  for f in (lambda x: x.mean(1), lambda x: x.max(1))]
        want[block] = (cells, [best_by_folds(r, scenes) for r in rights])
    for path in (folder, folder.parent):
        got = answer(path)
        for p in got["properties"]:
            cells, corrected = want[p["name"]]
            assert abs(p["mean"] - cells[:, 0].max()) < 1e-12 and abs(p["maximum"] - cells[:, 1].max()) < 1e-12
            assert abs(p["mean_corrected"] - corrected[0]) < 1e-12 and abs(p["maximum_corrected"] - corrected[1]) < 1e-12
        for block, (cells, _) in want.items():
            rows = [r for r in got["rows"] if r["property"] == block]
            assert [r["context"] for r in rows] == ["2", "4", "6", "filtered"] * 2
            assert np.abs(np.array([[r["mean"], r["maximum"]] for r in rows]) - cells).max() < 1e-12
        assert abs(got["mean"] - np.mean([c[:, 0].max() for c, _ in want.values()])) < 1e-12
        assert abs(got["mean_corrected"] - np.mean([c[0] for _, c in want.values()])) < 1e-12
        assert got["files"] == 6 and got["padded"] == 20
    text = plumb.run(folder).stdout
    assert f"{100 * want['O2'][0][:, 0].max():.2f}" in text and "mean over properties" in text and "padding" in text
    (tmp_path / "empty" / "raw_surprises").mkdir(parents=True)
    refused("has no .pth files", tmp_path / "empty")


def test_the_choice_of_the_best_of_many_random_rows_is_corrected(tmp_path):
    """20 properties without any signal: the best of 41 rows is far above one half, the corrected number is not."""
    rng = np.random.default_rng(1)
    for i in range(20):
        loss = rng.gamma(3.0, 0.1, (120, 40, 4))
        save(tmp_path / f"{i}.pth", {"block": f"P{i}", "frame_step": 1, "context_lengths": list(range(40)), "losses": Tensor(loss),
                                     "labels": Tensor(np.tile([1, 0], 60))})
    got = answer(tmp_path)
    assert got["mean"] > 0.6 and got["maximum"] > 0.6
    assert abs(got["mean_corrected"] - 0.5) < 0.06 and abs(got["maximum_corrected"] - 0.5) < 0.06
    assert all(p["rows"] == 41 for p in got["properties"])


def test_the_files_of_all_ranks_are_one_and_names_match_without_folder_and_suffix(tmp_path):
    rng, kinds = np.random.default_rng(2), ["1_Possible", "1_Impossible", "2_Possible", "2_Impossible"]
    names = [f"clip{i:03d}" for i in range(CLIPS)]
    loss = rng.gamma(3.0, 0.1, (CLIPS, 2, WINDOWS))
    level = [["Easy", "Hard"][i // 4 % 2] for i in range(CLIPS)]
    camera = [["Fixed", "Moving"][i // 20] for i in range(CLIPS)]
    (tmp_path / "metadata.csv").write_text("filename,SceneIndex,type,condition,Difficulty,Camera\n" + "".join(
        f"Videos/{names[i]}.mp4,{i // 4},{kinds[i % 4]},solidity,{level[i]},{camera[i]}\n" for i in range(CLIPS)))
    folder = tmp_path / "raw"
    folder.mkdir()
    for rank in range(3):  # the sampler gives every rank 14 clips, so two clips come twice
        mine = [(rank + 3 * i) % CLIPS for i in range(14)]
        save(folder / f"losses_2fs_2_4ctxt_rank{rank}.pth", {"frame_step": 2, "context_lengths": [2, 4], "losses": Tensor(loss[mine]),
                                                             "names": np.array([names[i] for i in mine])})
    got = answer(folder, "--metadata", tmp_path / "metadata.csv", "--concept-by", "Difficulty,Camera")
    pairs = loss.reshape(-1, 2, 2, 2, WINDOWS)  # scene, pair, possible or not, context, window
    for p in got["properties"]:
        mine = [s for s in range(CLIPS // 4) if f"{level[4 * s]} x {camera[4 * s]}" == p["name"]]
        x = pairs[mine].mean(-1)
        each = [(x[:, :, 0, c] < x[:, :, 1, c]).mean() for c in range(2)]
        least = pairs[mine].min(3).mean(-1)
        assert abs(p["mean"] - max([*each, (least[:, :, 0] < least[:, :, 1]).mean()])) < 1e-12
    assert len(got["properties"]) == 4 and got["files"] == 3 and got["repeated"] == 2
    # One file of a rank stands for all of them.
    one = answer(folder / "losses_2fs_2_4ctxt_rank1.pth", "--metadata", tmp_path / "metadata.csv", "--context", 1)
    assert abs(one["scorers"]["plain"]["benchmarks"]["vjepa"]["relative_accuracy"] -
               (pairs.mean(-1)[:, :, 0, 1] < pairs.mean(-1)[:, :, 1, 1]).mean()) < 1e-12
    assert one["n"] == CLIPS // 4
    (folder / "losses_2fs_2_4ctxt_rank0.pth").rename(tmp_path / "gone.pth")
    refused("rank0.pth: no such file", folder / "losses_2fs_2_4ctxt_rank1.pth", "--metadata", tmp_path / "metadata.csv")


# ---- what is refused ----

def test_no_code_of_a_pickle_is_run(study, path, tmp_path):
    class Evil:
        def __reduce__(self):
            return os.system, ("touch " + str(tmp_path / "owned"),)

    refused("names posix.system, which no dictionary of scores needs", save(path, {**study.thing, "x": Evil()}))
    assert not (tmp_path / "owned").exists()


def test_tensors_that_reach_beyond_their_storage_are_refused(study, path):
    loss = study.loss
    for words, tensor in (("reaches beyond its storage", Tensor(loss, shape=(1 << 40, 1, 1), strides=(0, 0, 0))),
                          ("reaches beyond its storage", Tensor(loss, shape=loss.shape, offset=1)),
                          ("too large", Tensor(loss, shape=(1 << 40, 1 << 40), strides=(1, 1)))):
        refused(words, save(path, {**study.thing, "losses": tensor}))


def test_labels_byte_order_and_context_are_checked(study, path):
    refused("expected one 1", save(path, {**study.thing, "labels": Tensor(np.ones(CLIPS, np.int64))}))
    refused("40 clips, but 39 labels", save(path, {**study.thing, "labels": Tensor(study.labels[:-1])}))
    refused("is not little-endian", save(path, study.thing, order=b"bigend"))
    refused("context is 3", save(path, study.thing), "--context", 3)


def test_other_archives_are_refused(path):
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("x", "y")
    refused("holds no data.pkl", path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("a/data.pkl", b"\x80\x02}." * 100)
    refused("compressed", path)


def test_a_changed_byte_gives_an_answer_or_one_line(study, path):
    small = {"block": "O1", "losses": Tensor(study.loss[:4, :1, :2]), "labels": Tensor(study.labels[:4]), "names": np.array(["a", "b"])}
    f = io.BytesIO()
    Pickler(f).dump(small)
    honest = f.getvalue()
    # Every third byte; every byte in make test-long. The fuzz target pth does the same without a process for each file.
    for at in range(0, len(honest), 1 if LONG else 12 if SANITIZE else 3):
        for change in (0x00, 0xff, ord("R"), ord("u")):
            save(path, small, pickled=honest[:at] + bytes([change]) + honest[at + 1:])
            done = subprocess.run(plumb.command(path, "--json", "--resamples", 0), capture_output=True, text=True)
            assert done.returncode in (0, 1) and len(done.stderr.splitlines()) <= 1, f"byte {at} = {change}: {done}"
