# SPDX-License-Identifier: MIT
"""measure, dynamics and forecast read the layouts in which people keep trajectories: each gives the very numbers of the plain one."""
import numpy as np
import pytest

from program import Program, numbers

plumb = Program()
COUNT, STEPS = 24, 40


class Data:
    """Springs of one frequency; latents are rotated states."""

    def __init__(self, folder):
        self.folder = folder
        rng = np.random.default_rng(3)
        radius, phase = rng.uniform(0.5, 1.5, (COUNT, 1)), rng.uniform(0, 6.28, (COUNT, 1))
        t = 0.15 * np.arange(STEPS)
        q, p = radius * np.cos(t + phase), -radius * np.sin(t + phase)
        self.truth = np.stack([q, p], -1)
        self.latent = np.stack([0.8 * q + 0.6 * p, 0.8 * p - 0.6 * q], -1)
        self.energy = (self.truth ** 2).sum(-1) / 2
        self.plain = self.answer("measure", self.save())

    def save(self, name="x.npz", **more):
        np.savez(self.folder / name, **{"latent": self.latent, "truth": self.truth, "energy": self.energy, **more})
        return self.folder / name

    def answer(self, command, *arguments):
        fast = ("--resamples", 100) if command != "probe" else ()
        return numbers(plumb.answer(command, *arguments, *fast))

    def table(self, columns, name="x.csv"):
        rows = np.stack([np.repeat(np.arange(COUNT), STEPS), np.tile(np.arange(STEPS), COUNT), *self.truth.reshape(-1, 2).T,
                         *self.latent.reshape(-1, 2).T, self.energy.ravel()], -1)
        with open(self.folder / name, "w") as out:
            out.write(columns + "\n")
            for row in rows:
                out.write(",".join(repr(float(x)) for x in row) + "\n")
        return self.folder / name


@pytest.fixture(scope="module")
def data(shared):
    return Data(shared)


def flat(array):
    return array.reshape(COUNT * STEPS, *array.shape[2:])


@pytest.mark.parametrize("division", [
    {"ep_len": np.full(COUNT, STEPS), "ep_offset": STEPS * np.arange(COUNT)}, {"ep_len": np.full(COUNT, STEPS)},
    {"trajectory": np.repeat(np.arange(COUNT), STEPS)}], ids=["offsets", "lengths", "numbers"])
def test_measure_of_flat_rows(data, division):
    assert data.answer("measure", data.save(latent=flat(data.latent), truth=flat(data.truth), energy=flat(data.energy), **division)) == data.plain


def test_measure_of_one_long_orbit(data):
    file = data.save(latent=flat(data.latent), truth=flat(data.truth), energy=flat(data.energy))
    assert data.answer("measure", file, "--cut", STEPS) == data.plain
    plumb.refused("--cut 60 cuts it", "measure", file)
    plumb.refused("the longest trajectory has 960 steps", "measure", file, "--cut", 2000, code=2)
    for command in ("measure", "probe", "forecast", "dynamics"):
        plumb.refused("--cut takes a number of steps", command, data.save(encoded=data.latent, prediction=data.truth), "--cut", -3, code=2)


def test_measure_of_a_table(data):
    file = data.table("trajectory,step,q,p,z0,z1,energy")
    got = data.answer("measure", "--latent", f"{file}:z0,z1", "--truth", f"{file}:q,p", "--energy", f"{file}:energy")
    assert got == data.plain
    plumb.refused(f"--latent {file}:z0,z1 --truth {file}:q,p", "measure", file)


def test_a_last_axis_of_one_too_many(data):
    """Also of the energy, in trajectories and in rows."""
    assert data.answer("measure", data.save(energy=data.energy[..., None])) == data.plain
    file = data.save(latent=flat(data.latent), truth=flat(data.truth), energy=flat(data.energy[..., None]), ep_len=np.full(COUNT, STEPS))
    assert data.answer("measure", file) == data.plain


def test_measure_of_arrays_of_one_number(data):
    np.savez(data.folder / "columns.npz", q=data.truth[..., 0], p=data.truth[..., 1], z=data.latent)
    file = data.folder / "columns.npz"
    np.save(data.folder / "energy.npy", data.energy)
    got = data.answer("measure", "--latent", f"{file}:z", "--truth", f"{file}:q,p", "--energy", data.folder / "energy.npy")
    assert got == data.plain
    plumb.refused("cannot be joined", "measure", "--latent", f"{file}:z", "--truth", f"{file}:q,z")
    plumb.refused('no array "x"', "measure", "--latent", f"{file}:z", "--truth", f"{file}:q,x")


def test_measure_of_a_last_axis_of_one(data):
    assert data.answer("measure", data.save(truth=data.truth[..., None], latent=data.latent[..., None])) == data.plain


@pytest.mark.parametrize("side, part", [("start", slice(0, 30)), ("end", slice(10, 40))])
def test_measure_of_latents_that_are_longer(data, side, part):
    file = data.save(truth=data.truth[:, part], energy=data.energy[:, part])
    wanted = data.answer("measure", data.save("y.npz", truth=data.truth[:, part], latent=data.latent[:, part], energy=data.energy[:, part]))
    assert data.answer("measure", file, "--align", side) == wanted
    plumb.refused("latent has 40 steps and truth 30: --align start", "measure", file)


def test_trajectories_that_end_early(data):
    length = np.full(COUNT, STEPS)
    length[3], length[7] = 30, 34
    latent, truth = data.latent.copy(), data.truth.copy()
    latent[3, 30:] = truth[3, 30:] = np.nan
    wanted = data.answer("measure", data.save("y.npz", truth=truth[:, :30], latent=latent[:, :30], energy=data.energy[:, :30]))
    done = plumb.run("measure", data.save(truth=truth, latent=latent, length=length), "--json", "--resamples", 100)
    assert "30 to 40 steps: the first 30 of each count" in done.stderr
    assert data.answer("measure", data.save(truth=truth, latent=latent, length=length)) == wanted
    # One that is very short must not shorten all; pieces leave it out.
    length[3] = 5
    file = data.save(truth=truth, latent=latent, length=length)
    plumb.refused("5 to 40 steps, and all must have as many: --cut N", "measure", file)
    assert data.answer("measure", file, "--cut", 20)["trajectories"] == 2 * (COUNT - 2) + 1


def test_what_a_trajectory_has_once_belongs_to_each_of_its_pieces(data):
    rng = np.random.default_rng(5)
    mass = rng.uniform(0.5, 2, COUNT)
    variance = rng.uniform(0.01, 0.02, (COUNT, 2))
    wanted = data.answer("measure", data.save(
        "y.npz", latent=data.latent.reshape(-1, 20, 2), truth=data.truth.reshape(-1, 20, 2), energy=data.energy.reshape(-1, 20),
        m=np.repeat(mass, 2), variance=np.repeat(variance, 2, 0)), "--constants", "m")
    assert data.answer("measure", data.save(m=mass, variance=variance), "--cut", 20, "--constants", "m") == wanted


def test_an_odd_number_of_latents_names_the_commands_that_take_it(data):
    plumb.refused("plumb probe and plumb dynamics take latents of any kind", "measure",
                  data.save(latent=np.concatenate([data.latent, data.latent[..., :1]], -1)))


def test_dynamics_of_every_layout(data):
    late = np.roll(data.latent, 1, 0)
    wanted = data.answer("dynamics", data.save(encoded=data.latent, latent=late))
    assert data.answer("dynamics", data.save(encoded=flat(data.latent), latent=flat(late), truth=flat(data.truth), energy=flat(data.energy),
                                             ep_len=np.full(COUNT, STEPS))) == wanted
    assert data.answer("dynamics", data.save(encoded=data.latent, latent=late, truth=np.concatenate([data.truth, data.truth[:, :5]], 1)),
                       "--align", "start") == wanted
    assert data.answer("dynamics", data.save(encoded=data.latent, latent=late, truth=data.latent, other=data.truth), "--truth", "other") == wanted


def test_forecast_of_every_layout(data):
    late = 0.9 * data.truth
    wanted = data.answer("forecast", data.save(prediction=late))
    assert data.answer("forecast", data.save(truth=flat(data.truth), prediction=flat(late), ep_len=np.full(COUNT, STEPS))) == wanted
    assert data.answer("forecast", data.save(truth=flat(data.truth), prediction=flat(late)), "--cut", STEPS) == wanted
    assert data.answer("forecast", data.save(prediction=np.concatenate([late, late[:, :9]], 1)), "--align", "start") == wanted
    plumb.refused("without samples", "forecast", data.save(prediction=late[:, None]), "--samples-axis", 1, "--cut", 10, code=2)


def test_forecast_of_one_orbit(data):
    np.save(data.folder / "a.npy", data.truth[0])
    np.save(data.folder / "b.npy", data.latent[0])
    got = plumb.answer("forecast", "--truth", data.folder / "a.npy", "--prediction", data.folder / "b.npy")
    assert (got["n"], got["steps"], got["mse_ci"]) == (1, STEPS, None)
    assert abs(got["mse"] - ((data.truth[0] - data.latent[0]) ** 2).mean()) < 1e-12


@pytest.mark.parametrize("form, first", [("md", "| key | value | low | high |"), ("latex", "\\begin{tabular}{lrrr}"), ("csv", "key,value,low,high")])
def test_every_form_has_the_numbers_of_the_record(data, form, first):
    file = data.save(encoded=data.latent, prediction=data.latent)
    for command in ("measure", "dynamics", "forecast", "probe"):
        lines = plumb.run(command, file, "--format", form).stdout.splitlines()
        record = plumb.answer(command, file)
        assert lines[0] == first
        if form == "csv":
            cells = dict(line.split(",")[:2] for line in lines[1:])
            assert float(cells["r2" if command != "forecast" else "mse"]) == record["r2" if command != "forecast" else "mse"]
    assert plumb.run("measure", file, "--format", "json").stdout.startswith("{")
    plumb.refused("text, json, md, latex or csv", "measure", file, "--format", "xml", code=2)


def test_sine_cosine_and_momentum_keep_their_layout(data):
    # Three latents of one pair: an odd number that has positions and momenta.
    angle, p = data.truth[..., 0], data.truth[..., 1]
    file = data.save(latent=np.stack([np.cos(angle), np.sin(angle), p], -1))
    assert plumb.answer("measure", file, "--layout", "circle")["verdict"] == "learnt"
    plumb.refused("the layout circle", "measure", file)


@pytest.mark.parametrize("command", [("measure",), ("probe",), ("dynamics",), ("forecast",), ("surprise",), ("convert", "x.npz"), ("show", "--out", "x.png")])
def test_a_path_that_does_not_exist_is_named_as_such(tmp_path, command):
    """Whatever its name ends in; a file that exists is refused by its name."""
    missing, text = tmp_path / "none", tmp_path / "text.txt"
    text.write_text("q")
    plumb.refused("none: No such file or directory", command[0], missing, *command[1:])
    plumb.refused("ends in", command[0], text, *command[1:])
    if command[0] == "measure":
        plumb.refused("No such file or directory", command[0], "--latent", f"{missing}:q", "--truth", f"{text}:q")
        plumb.refused("ends in", command[0], "--latent", f"{text}:q", "--truth", f"{text}:q")
