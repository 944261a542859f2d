# SPDX-License-Identifier: MIT
"""plumb probe as a user runs it: scores against the same protocol written with NumPy, targets that are there and targets that are
not, every control, and one line for every mistake."""
import numpy as np
import pytest

from program import Program, numbers

plumb = Program("probe")
run, answer, refused = plumb.run, plumb.answer, plumb.refused
PENALTIES = np.logspace(-8, 1, 10)


# ---- the protocol, written plainly ----

def ridge(x, y, penalty):
    """A readout of standardised x: a function of x."""
    mean, deviation = x.mean(0), x.std(0)
    z = (x - mean) / deviation
    u, s, v = np.linalg.svd(z, full_matrices=False)
    b = v.T @ ((s / (s ** 2 + penalty * len(x)))[:, None] * (u.T @ (y - y.mean(0))))
    return lambda new: (new - mean) / deviation @ b + y.mean(0)


def flat(array, keep):
    return np.concatenate([array[i] for i in np.flatnonzero(keep)])


def reference(latent, y, fold, penalties=PENALTIES):
    """Predictions of y (trajectories, steps, k), each trajectory by a readout of other folds; penalties by leaving one more out."""
    out, relative = np.empty_like(y), np.empty(y.shape)
    for tested in range(fold.max() + 1):
        errors = np.zeros((len(penalties), y.shape[-1]))
        for left in set(range(fold.max() + 1)) - {tested}:
            fit, held = (fold != tested) & (fold != left), fold == left
            for k, penalty in enumerate(penalties):
                read = ridge(flat(latent, fit), flat(y, fit), penalty)
                errors[k] += ((read(flat(latent, held)) - flat(y, held)) ** 2).sum(0)
        fit = fold != tested
        for c, k in enumerate(errors.argmin(0)):
            read = ridge(flat(latent, fit), flat(y, fit)[:, c:c + 1], penalties[k])
            for i in np.flatnonzero(fold == tested):
                out[i, :, c] = read(latent[i])[:, 0]
                relative[i, :, c] = (out[i, :, c] - y[i, :, c]) ** 2 / flat(y, fit)[:, c].var()
    return out, relative


def r2(y, p):
    y, p = y.reshape(-1), p.reshape(-1)
    return 1 - ((y - p) ** 2).sum() / ((y - y.mean()) ** 2).sum()


# ---- data ----

class Data:
    """Springs, and five latents that hold their state linearly and with noise."""

    def __init__(self, folder):
        self.folder = folder
        rng = np.random.default_rng(3)
        radius, phase = rng.uniform(0.5, 1.5, (40, 1)), rng.uniform(0, 6.28, (40, 1))
        t = 0.1 * np.arange(30)
        self.truth = np.stack([radius * np.cos(t + phase), -radius * np.sin(t + phase)], -1)
        self.energy = (self.truth ** 2).sum(-1) / 2
        self.mass = rng.uniform(1, 2, 40)
        mix = rng.normal(size=(2, 5))
        self.latent = self.truth @ mix + 0.1 * rng.normal(size=(40, 30, 5)) + 7
        self.noise = rng.normal(size=(40, 30))
        self.angle = np.arctan2(self.truth[..., 1], self.truth[..., 0])
        grid = np.arange(12) / 6 - 1
        away = (grid[:, None] - self.truth[..., :1, None] / 2) ** 2 + grid[None, :] ** 2
        self.frames = (255 * np.exp(-8 * away)).astype(np.uint8)[..., None]
        self.file = self.save(latent=self.latent, truth=self.truth, energy=self.energy, mass=self.mass, noise=self.noise,
                              angle=self.angle, time=np.tile(t, (40, 1)))

    def save(self, name="data.npz", **arrays):
        np.savez(self.folder / name, **arrays)
        return self.folder / name


@pytest.fixture(scope="module")
def data(shared):
    return Data(shared)


@pytest.fixture(scope="module")
def got(data):
    return answer(data.file, "--angle", "angle", "--ood", "energy")


def line(record, name):
    return next(one for one in record["targets"] + record["groups"] if one["name"] == name)


# ---- numbers ----

def test_the_linear_probe_is_numpys(data, got):
    fold = np.array(got["fold"])
    assert sorted(np.bincount(fold)) == [8] * 5
    y = np.stack([data.truth[..., 0], data.truth[..., 1], data.energy, np.tile(data.mass[:, None], (1, 30)), data.noise], -1)
    p, relative = reference(data.latent, y, fold)
    for c, name in enumerate(["truth[0]", "truth[1]", "energy", "mass", "noise"]):
        score = line(got, name)["linear"]
        assert abs(score["r2"] - r2(y[..., c], p[..., c])) < 1e-8, name
        assert abs(score["r"] - np.corrcoef(y[..., c].ravel(), p[..., c].ravel())[0, 1]) < 1e-8, name
        assert abs(score["nmse"] - relative[..., c].mean()) < 1e-8, name
        assert score["r2_ci"][0] < score["r2"] < score["r2_ci"][1]
        assert min(abs(np.log10(score["penalty"] / PENALTIES))) < 1e-9


def test_an_angle_is_its_sine_and_cosine(data, got):
    y = np.stack([np.sin(data.angle), np.cos(data.angle)], -1)
    best = [reference(data.latent, y, np.array(got["fold"]), [penalty])[0] for penalty in PENALTIES]
    # Both have one penalty, so the reference with the best common penalty of all folds is near.
    error = min(((p - y) ** 2).sum() for p in best)
    want = 1 - error / ((y - y.mean((0, 1))) ** 2).sum()
    assert line(got, "angle")["angle"] and abs(line(got, "angle")["linear"]["r2"] - want) < 1e-3


def test_what_is_there_is_found_and_what_is_not_is_not(got):
    assert [line(got, name)["found"] for name in ("truth[0]", "truth[1]", "truth", "angle")] == ["linear"] * 4
    assert line(got, "energy")["found"] == "nonlinear"
    assert line(got, "energy")["linear"]["r2"] < 0.1 and line(got, "energy")["nonlinear"]["r2"] > 0.5
    assert [line(got, name)["found"] for name in ("noise", "mass")] == ["none"] * 2
    assert line(got, "noise")["nonlinear"]["r2"] < 0.05
    assert not any(one["name"] == "time" for one in got["targets"])


def test_a_group_is_the_mean_of_its_targets(got):
    both = [line(got, f"truth[{k}]")["linear"] for k in (0, 1)]
    group = line(got, "truth")["linear"]
    for key in ("r2", "r", "nmse"):
        assert abs(group[key] - (both[0][key] + both[1][key]) / 2) < 1e-14
    assert group["r2_ci"][0] < group["r2"] < group["r2_ci"][1] and group["penalty"] is None
    assert [one["name"] for one in got["groups"]] == ["truth"]


def test_intervals_hold_the_value_of_a_new_sample(data):
    # The R2 of a readout of much data is inside the interval from little.
    rng = np.random.default_rng(9)
    radius, phase = rng.uniform(0.5, 1.5, (1000, 1)), rng.uniform(0, 6.28, (1000, 1))
    q = radius * np.cos(0.1 * np.arange(30) + phase)
    latent = np.stack([q + 0.7 * rng.normal(size=q.shape), rng.normal(size=q.shape)], -1)
    all_of_it = answer(data.save("many.npz", latent=latent, q=q), "--no-controls", "--linear-only")["r2"]
    inside = 0
    for k in range(20):
        part = slice(50 * k, 50 * k + 50)
        low, high = answer(data.save("few.npz", latent=latent[part], q=q[part]), "--no-controls", "--linear-only")["targets"][0]["linear"]["r2_ci"]
        inside += low < all_of_it < high
    assert inside >= 16


def test_controls(data, got):
    for one in got["targets"]:
        assert one["controls"]["shuffled"] < 0.05 and one["controls"]["shuffled"] <= one["controls"]["shuffled_max"] < 0.1
        assert one["controls"]["pixels"] is None and one["controls"]["action"] is None
    q = line(got, "truth[0]")
    assert q["fractions"][0] < q["fractions"][2] <= q["linear"]["r2"] + 0.01
    assert got["fitted"] == [4, 8, 16, 32]
    # A latent that is the last state only: the past knows as much.
    assert q["controls"]["past"] > 0.5


def test_frames_are_controls(data):
    with_frames = answer(data.save("frames.npz", latent=data.latent, truth=data.truth, frames=data.frames))
    q, p = line(with_frames, "truth[0]")["controls"], line(with_frames, "truth[1]")["controls"]
    assert q["pixels"] > 0.95 and q["projection"] > 0.7, "the frame shows the position"
    assert p["pixels"] < 0.5, "one frame shows no momentum"
    apart = answer(data.file, "--target", "truth", "--frames", f"{data.folder / 'frames.npz'}:frames")
    assert line(apart, "truth[0]")["controls"] == q


def test_actions_are_a_control_and_no_target(data):
    action = np.stack([data.truth[..., 0], data.noise], -1)
    record = answer(data.save("action.npz", latent=data.latent, truth=data.truth, action=action))
    assert {one["group"] for one in record["targets"]} == {"truth"}
    assert line(record, "truth[0]")["controls"]["action"] > 0.999 > 0.6 > line(record, "truth[1]")["controls"]["action"]


def test_latents_and_targets_that_were_exchanged_are_noticed(data):
    assert answer(data.file, "--target", "truth", "--no-controls")["hint"] is None
    assert answer(data.file, "--no-controls")["hint"].startswith("angle jumps by a turn")
    latent = data.truth @ np.random.default_rng(4).normal(size=(2, 6))
    file = data.save("exchanged.npz", latent=data.truth, truth=latent)
    assert answer(file)["hint"] == "truth has more columns than there are latents, and all follow from them: were latents and truth exchanged?"
    assert "Note: truth has more columns" in run(file).stdout


def test_actions_in_every_layout(data):
    """No last axis, flat rows, pieces; the last step may be missing or NaN. What does not fit is refused."""
    steps, action = data.truth.shape[1], data.noise[..., None].astype(np.float32)
    unended = action.copy()
    unended[:, -1] = np.nan
    arrays, rows = dict(latent=data.latent, truth=data.truth), lambda a: a.reshape(-1, a.shape[-1])
    episodes = dict(latent=rows(data.latent), truth=rows(data.truth), ep_len=np.full(len(data.truth), steps))

    def control(arrays, action, *options):
        record = answer(data.save("action.npz", **arrays, action=action), "--linear-only", *options)
        return line(record, "truth[0]")["controls"]["action"]
    want = control(arrays, action)
    assert all(control(arrays, one) == want for one in (action[..., 0], np.asfortranarray(action)))
    assert all(control(episodes, one) == want for one in (rows(action), action.ravel()))
    ended = action * (np.arange(steps) < steps - 1)[:, None]
    want = control(arrays, ended)
    assert all(control(arrays, one) == want for one in (action[:, :-1], action[:, :-1, 0], unended))
    assert control(arrays, action[:, :-1], "--cut", 15) == control(arrays, ended, "--cut", 15)
    for wrong in (action[1:], action[:, 4:], action[0], action[..., None, None]):
        refused("action has shape", data.save("action.npz", **arrays, action=wrong))


def test_ood_is_numpys(data, got):
    order = np.argsort(data.energy.mean(1))
    low, high = order[:20], order[20:]
    assert got["ood_fitted"] == 20 and got["ood_tested"] == 20
    assert abs(got["ood_limit"] - data.energy.mean(1)[order[19:21]].mean()) < 1e-14
    y = data.truth[..., 0]
    read = ridge(flat(data.latent, np.isin(np.arange(40), low)), flat(y, np.isin(np.arange(40), low))[:, None],
                 line(got, "truth[0]")["ood"]["penalty"])
    want = r2(y[high], np.stack([read(data.latent[i])[:, 0] for i in high]))
    assert abs(line(got, "truth[0]")["ood"]["r2"] - want) < 1e-8
    # A readout of the energy from a linear map of the state does not extrapolate.
    assert line(got, "energy")["ood"]["r2"] < -0.5


def test_the_number_of_threads_changes_nothing(data):
    assert numbers(answer(data.file, "--threads", "1")) == numbers(answer(data.file, "--threads", "3"))


def test_another_seed_divides_otherwise(data, got):
    other = answer(data.file, "--seed", "2", "--linear-only")
    assert other["fold"] != got["fold"] and abs(line(other, "truth[0]")["linear"]["r2"] - line(got, "truth[0]")["linear"]["r2"]) < 0.02


# ---- arrays people have ----

@pytest.mark.parametrize("kind", ["f2", "f4", "i2", "fortran"])
def test_types_and_orders(data, kind):
    plain = answer(data.save("plain.npz", latent=data.latent.astype("f4"), truth=data.truth), "--linear-only")
    latent = np.asfortranarray(data.latent.astype("f4")) if kind == "fortran" else \
        (1000 * data.latent).astype("i2") if kind == "i2" else data.latent.astype(kind)
    record = answer(data.save("other.npz", latent=latent, truth=data.truth), "--linear-only")
    near = 0 if kind in ("f4", "fortran") else 1e-3
    assert abs(record["r2"] - plain["r2"]) <= near


def test_trajectories_that_end_early(data):
    rng = np.random.default_rng(1)
    length = rng.integers(10, 31, 40)
    latent, truth = data.latent.copy(), data.truth.copy()
    for i, n in enumerate(length):
        latent[i, n:] = np.nan
        truth[i, n:] = np.nan
    padded = answer(data.save("nan.npz", latent=latent, truth=truth))
    filled = data.latent.copy()
    for i, n in enumerate(length):
        filled[i, n:] = 1e6
    named = answer(data.save("length.npz", latent=filled, truth=data.truth, length=length))
    assert padded["rows"] == named["rows"] == length.sum()
    assert numbers(padded, "input_hash") == numbers(named, "input_hash")
    assert line(padded, "truth[0]")["linear"]["r2"] > 0.9


FAST = ("--linear-only", "--no-controls", "--target", "truth")


def flat_rows(data, gap):
    """Episodes of different lengths one after the other, with rows between that belong to none."""
    rng = np.random.default_rng(4)
    length = rng.integers(10, 31, 40)
    latent, truth, offset = [], [], []
    for i, n in enumerate(length):
        offset.append(sum(map(len, latent)))
        latent += [data.latent[i, :n], np.full((gap, 5), 1e9)]
        truth += [data.truth[i, :n], np.full((gap, 2), 1e9)]
    return np.concatenate(latent), np.concatenate(truth), length, np.array(offset)


def as_padded(data, length):
    return answer(data.save("padded.npz", latent=data.latent, truth=data.truth, length=length), *FAST)


@pytest.mark.parametrize("kind", ["npz", "h5", "no offsets"])
def test_rows_with_ep_len_and_ep_offset(data, kind):
    latent, truth, length, offset = flat_rows(data, gap=0 if kind == "no offsets" else 3)
    arrays = dict(latent=latent, truth=truth, ep_len=length, ep_offset=offset)
    if kind == "no offsets":
        del arrays["ep_offset"]
    path = data.folder / "flat.npz"
    if kind == "h5":
        h5py = pytest.importorskip("h5py")
        path = data.folder / "flat.h5"
        with h5py.File(path, "w") as file:
            for name, array in arrays.items():
                file[name] = array
    else:
        np.savez(path, **arrays)
    got, want = answer(path, *FAST), as_padded(data, length)
    assert numbers(got, "input_hash") == numbers(want, "input_hash") and got["rows"] == length.sum()


def test_rows_with_a_column_of_trajectories(data):
    latent, truth, length, _ = flat_rows(data, gap=0)
    number = np.repeat(np.arange(40)[::-1], length)
    got = answer(data.save("a.npz", latent=latent, truth=truth, trajectory=number, step=np.arange(len(latent))), *FAST)
    assert numbers(got, "input_hash") == numbers(as_padded(data, length), "input_hash")
    number[[0, -1]] = number[[-1, 0]]
    refused("sort the rows", data.save("a.npz", latent=latent, truth=truth, trajectory=number), *FAST)


def test_a_long_trajectory_is_cut(data):
    want = answer(data.save("a.npz", latent=data.latent, truth=data.truth), *FAST)
    long = data.save("b.npz", latent=data.latent.reshape(-1, 5), truth=data.truth.reshape(-1, 2))
    assert numbers(answer(long, *FAST, "--cut", "30"), "input_hash") == numbers(want, "input_hash")
    refused("--cut 60", long, *FAST)
    pieces = answer(data.folder / "a.npz", *FAST, "--cut", "7")
    assert pieces["n"] == 160 and pieces["steps"] == 7 and pieces["rows"] == 40 * 28
    refused("the longest trajectory has 30 steps", data.folder / "a.npz", "--cut", "31", code=2)


@pytest.mark.parametrize("side, part", [("start", slice(0, 24)), ("end", slice(6, 30))])
def test_longer_latents_are_aligned(data, side, part):
    truth = data.truth[:, part]
    got = answer(data.save("a.npz", latent=data.latent, truth=truth), *FAST, "--align", side)
    want = answer(data.save("b.npz", latent=data.latent[:, part], truth=truth), *FAST)
    assert numbers(got, "input_hash") == numbers(want, "input_hash")
    other = answer(data.save("a.npz", latent=data.latent[:, part], truth=data.truth), *FAST, "--align", side)
    assert numbers(other, "input_hash") == numbers(want, "input_hash")


def test_a_last_axis_of_one(data):
    got = answer(data.save("a.npz", latent=data.latent[..., None], truth=data.truth[..., None]), *FAST)
    want = answer(data.save("b.npz", latent=data.latent, truth=data.truth), *FAST)
    assert numbers(got, "input_hash") == numbers(want, "input_hash")


def test_a_table_of_numbers(data):
    latent, truth, length, _ = flat_rows(data, gap=0)
    table = np.concatenate([np.repeat(np.arange(40), length)[:, None], latent, truth], -1)
    names = ["trajectory", *(f"latent[{k}]" for k in range(5)), "truth_0", "truth_1"]
    np.savetxt(data.folder / "table.csv", table, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    got = answer(data.folder / "table.csv", *FAST)
    assert numbers(got, "input_hash") == numbers(as_padded(data, length), "input_hash")
    (data.folder / "bad.csv").write_text("trajectory,latent,q\n0,1,2\n0,one,3\n")
    refused("bad.csv: line 3, column latent: \"one\" is not a number", data.folder / "bad.csv")


def test_columns_of_a_table_are_named_behind_the_file(data):
    latent, truth, length, _ = flat_rows(data, gap=0)
    rows = np.concatenate([np.repeat(np.arange(40), length)[:, None], latent, truth], -1)
    lines = [",".join([f"clip {row[0]:.0f}", *(f"{value:.17g}" for value in row)]) for row in rows]
    table = data.folder / "named.csv"
    table.write_text("\n".join(["name,trajectory,a,b,c,d,e,q,p", *lines]) + "\n")
    want = [target["linear"]["r2"] for target in as_padded(data, length)["targets"]]
    quick = ("--linear-only", "--no-controls")
    for arguments in ([f"{table}:a,b,c,d,e"], [f"{table}:a,b,c,d,e", "--target", "q,p"], [table, "--latent", f"{table}:a,b,c,d,e", "--target", "q,p"]):
        got = answer(*arguments, *quick)["targets"]
        assert [target["name"] for target in got] == ["q", "p"] and [target["linear"]["r2"] for target in got] == want
    refused(f"name columns as {table}:A,B", table)


def test_latents_of_another_file_hide_no_target_of_the_same_name(data):
    other = data.save("other.npz", truth=data.latent)
    file = data.save("a.npz", truth=data.truth, z=data.latent)
    for arguments in (["--latent", f"{other}:truth"], ["--latent", "z"]):
        names = [target["name"] for target in answer(file, *arguments, "--linear-only", "--no-controls")["targets"]]
        assert names[:2] == ["truth[0]", "truth[1]"] and ("z[0]" in names) == (arguments[1] != "z")


def test_a_folder_of_files(data):
    latent, truth, length, offset = flat_rows(data, gap=2)
    folder = data.folder / "folder"
    folder.mkdir(exist_ok=True)
    np.save(folder / "latent.npy", latent)
    for name, array in dict(truth=truth, ep_len=length, ep_offset=offset).items():
        np.savez(folder / f"{name}.npz", array)
    (folder / "README.txt").write_text("not an array")
    assert numbers(answer(folder, *FAST), "input_hash") == numbers(as_padded(data, length), "input_hash")
    np.save(folder / "truth.npy", truth)
    refused("truth.npy and truth.npz have one name", folder)
    (data.folder / "nothing").mkdir(exist_ok=True)
    refused("a folder without .npy and .npz files", data.folder / "nothing")


def test_layouts_that_do_not_fit_are_refused(data):
    latent, truth, length, offset = flat_rows(data, gap=0)
    refused("episode 39", data.save("a.npz", latent=latent, truth=truth, ep_len=length, ep_offset=offset + 1))
    refused("40 values and ep_offset 39", data.save("a.npz", latent=latent, truth=truth, ep_len=length, ep_offset=offset[:39]))
    refused("must be (rows, d)", data.save("a.npz", latent=data.latent, truth=data.truth, ep_len=length))
    # Pieces of episodes: none has steps of two.
    assert answer(data.save("a.npz", latent=latent, truth=truth, ep_len=length), *FAST, "--cut", "5")["n"] == (length // 5).sum()
    refused("ep_len and ep_offset, a column", data.save("a.npz", latent=data.frames, truth=data.truth))
    refused("truth has shape", data.save("a.npz", latent=latent, truth=truth[:-1], ep_len=length), "--target", "truth")


def test_a_target_that_never_changes_has_no_score(data):
    record = answer(data.save("constant.npz", latent=data.latent, truth=data.truth, g=np.full(40, 9.81)))
    assert line(record, "g")["constant"] and line(record, "g")["linear"] is None
    assert abs(record["r2"] - line(record, "truth")["linear"]["r2"]) < 1e-14
    assert "never changes" in run(data.folder / "constant.npz").stdout


def test_targets_of_another_file(data):
    data.save("targets.npz", speed=data.truth[..., 1], other=data.energy)
    record = answer(data.file, "--target", f"{data.folder / 'targets.npz'}:speed", "--target", "energy", "--linear-only")
    assert [one["name"] for one in record["targets"]] == ["speed", "energy"]
    assert line(record, "speed")["linear"]["r2"] > 0.9


def test_the_table_names_every_target_and_control(data):
    text = run(data.file, "--ood", "energy").stdout
    for word in ("truth[0]", "truth[1]", "energy", "noise", "shuffled", "past", "1/8", "ood", "non-linear"):
        assert word in text
    assert "pixels" not in text.split("shuffled, highest")[0]


def test_requirements(data):
    run(data.file, "--target", "truth", "--require", "r2=0.9", "--linear-only", "--no-controls")
    assert "r2" in run(data.file, "--target", "noise", "--require", "r2", "--linear-only", "--no-controls", code=3).stderr
    refused("r3", data.file, "--require", "r3", code=2)


# ---- targets of a world ----

@pytest.fixture(scope="module")
def orbits(shared):
    """Two bodies, and latents that are their states or the elements of their orbits."""
    Program("simulate").run("two-body+c", "--count", "60", "--steps", "20", "--out", shared / "orbits.npz")
    return np.load(shared / "orbits.npz")


def test_a_world_supplies_targets(data, orbits):
    rng = np.random.default_rng(1)
    latent = np.concatenate([orbits["state"], orbits["derivative"][..., 4:]], -1) @ rng.normal(size=(12, 16))
    constants = {name: orbits[name] for name in ("m", "g", "offset", "color_index")}
    newton = data.save("newton.npz", latent=latent, truth=orbits["state"], **constants)
    record = answer(newton, "--world", "two-body+c", "--linear-only", "--no-controls", "--target", "truth")
    names = [one["name"] for one in record["targets"]]
    assert names[:4] == ["x1", "y1", "x2", "y2"] and names[-3:] == ["m[0]", "m[1]", "g"]
    assert {one["group"] for one in record["targets"]} == {"truth", "velocity", "force", "energy", "orbit", "m", "g"}
    assert line(record, "force")["linear"]["r2"] > 0.999 > 0.9 > line(record, "orbit")["linear"]["r2"]
    # The energy is that of the file, bit by bit of R2.
    beside = answer(data.save("energy.npz", latent=latent, energy=orbits["energy"]), "--linear-only", "--no-controls")
    assert abs(line(record, "energy")["linear"]["r2"] - line(beside, "energy")["linear"]["r2"]) < 1e-9
    ood = answer(newton, "--world", "two-body+c", "--linear-only", "--no-controls", "--target", "truth", "--ood", "eccentricity")
    assert ood["ood_tested"] == 30 and 0 < ood["ood_limit"] < 1


def test_constants_of_a_rollout_are_taken(data, orbits):
    constants = np.concatenate([orbits["m"], orbits["g"][:, None], orbits["offset"], orbits["color_index"]], -1)
    one = answer(data.save("a.npz", latent=orbits["state"], truth=orbits["state"], parameters=constants), "--target", "truth",
                 "--world", "two-body+c", "--linear-only", "--no-controls")
    other = answer(data.save("b.npz", latent=orbits["state"], truth=orbits["state"], m=orbits["m"], g=orbits["g"],
                             offset=orbits["offset"], color_index=orbits["color_index"]), "--target", "truth",
                   "--world", "two-body+c", "--linear-only", "--no-controls")
    assert one["targets"] == other["targets"]


def test_angles_of_a_world_are_known(data):
    Program("simulate").run("pendulum", "--count", "20", "--steps", "20", "--out", data.folder / "pendulum.npz")
    state = np.load(data.folder / "pendulum.npz")["state"]
    record = answer(data.save("a.npz", latent=state, truth=state), "--world", "pendulum", "--linear-only", "--no-controls")
    assert [one["angle"] for one in record["targets"] if one["group"] == "truth"] == [True, False]


def test_a_world_that_does_not_fit_is_refused(data, orbits):
    refused("no world", data.file, "--world", "moon", code=2)
    refused("states of pendulum are (trajectories, steps, 2)", data.save("a.npz", latent=orbits["state"], truth=orbits["state"]),
            "--world", "pendulum")
    refused("has no states", data.file, "--world", "rooms/solidity", code=2)
    refused("parameters has shape", data.save("a.npz", latent=data.latent, truth=data.truth, parameters=np.ones((40, 3))),
            "--target", "truth", "--world", "mass-spring")


# ---- mistakes ----

def test_mistakes_are_one_line(data):
    refused("takes one file", code=2)
    refused("nowhere.npz", "nowhere.npz")
    refused("no array \"latent\"", data.save("a.npz", truth=data.truth))
    refused("no array to read out", data.save("a.npz", latent=data.latent))
    refused("(trajectories, steps, d)", data.save("a.npz", latent=data.latent[0], truth=data.truth[0, :, 0]))
    refused("3 trajectories", data.save("a.npz", latent=data.latent[:3], truth=data.truth[:3]), code=2)
    refused("truth has shape (39, 30, 2)", data.save("a.npz", latent=data.latent, truth=data.truth[:39]), "--target", "truth")
    refused("--align start", data.save("a.npz", latent=data.latent, truth=data.truth[:, :29]))
    refused("there is no target \"x\"", data.file, "--angle", "x", code=2)
    refused("name one, as truth[0]", data.file, "--ood", "truth", code=2)
    refused("there is no target \"truth[2]\"", data.file, "--ood", "truth[2]", code=2)
    refused("same in all", data.save("a.npz", latent=data.latent, truth=data.truth, g=np.ones(40)), "--ood", "g", code=2)
    refused("penalty_high", data.file, "--penalty-low", "2", "--penalty-high", "1", code=2)


def test_numbers_that_are_not_finite_are_named(data):
    latent = data.latent.copy()
    latent[3, 4, 1] = np.nan
    refused("trajectory 3, step 4", data.save("a.npz", latent=latent, truth=data.truth))
    truth = data.truth.copy()
    truth[5, 6, 0] = np.inf
    refused("truth[0] has NaN or infinity in trajectory 5, step 6", data.save("a.npz", latent=data.latent, truth=truth))
    latent = data.latent.copy()
    latent[2] = np.nan
    refused("trajectory 2 is all NaN", data.save("a.npz", latent=latent, truth=data.truth))
    refused("lengths", data.save("a.npz", latent=data.latent, truth=data.truth, length=np.full(40, 31)), code=2)


# ---- hard cases ----

def test_latents_that_depend_on_each_other_or_never_change(data):
    latent = np.concatenate([data.latent, data.latent[..., :2], np.ones((40, 30, 3))], -1)
    record = answer(data.save("a.npz", latent=latent, truth=data.truth), "--linear-only")
    plain = answer(data.save("b.npz", latent=data.latent, truth=data.truth), "--linear-only")
    assert abs(record["r2"] - plain["r2"]) < 1e-4


def test_more_latents_than_rows(data):
    rng = np.random.default_rng(2)
    latent = data.truth[:8, :10] @ rng.normal(size=(2, 300)) + 0.01 * rng.normal(size=(8, 10, 300))
    record = answer(data.save("a.npz", latent=latent, truth=data.truth[:8, :10]))
    assert record["r2"] > 0.99


def test_a_small_part_far_from_zero_is_read(data):
    # Deviation 1e-3 around 1e4: sums of squares must not lose it.
    latent = 1e4 + 1e-3 * data.latent
    record = answer(data.save("a.npz", latent=latent, truth=data.truth), "--linear-only", "--no-controls")
    plain = answer(data.save("b.npz", latent=data.latent, truth=data.truth), "--linear-only", "--no-controls")
    assert abs(record["r2"] - plain["r2"]) < 1e-6
