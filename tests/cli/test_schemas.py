# SPDX-License-Identifier: MIT
"""What commands print with --json is what docs/schemas says: every key is there, and no other."""
import json

import numpy as np
import pytest

from paths import SOURCE
from program import Program

SCHEMAS = SOURCE / "docs/schemas"
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_type(value, name):
    if name in ("number", "integer"):
        return isinstance(value, (int, float)) and not isinstance(value, bool) and (name == "number" or value == int(value))
    return isinstance(value, TYPES[name])


def faults(value, schema, where="record"):
    """The part of JSON Schema that the files use: type, enum, const, properties, required, additionalProperties, items, $ref to definitions."""
    known = {"type", "enum", "const", "properties", "required", "additionalProperties", "items", "description", "title", "$schema", "$ref",
             "definitions"}
    assert set(schema) <= known, f"{where}: the schema has {set(schema) - known}"
    if "$ref" in schema:
        return faults(value, {**faults.definitions[schema["$ref"].rpartition("/")[2]]}, where)
    wanted = schema.get("type")
    if wanted and not any(is_type(value, name) for name in ([wanted] if isinstance(wanted, str) else wanted)):
        return [f"{where} is {value!r}, wanted {wanted}"]
    if "enum" in schema and value not in schema["enum"] or "const" in schema and value != schema["const"]:
        return [f"{where} is {value!r}"]
    found = []
    if isinstance(value, dict):
        found += [f"{where} has no {key}" for key in schema.get("required", ()) if key not in value]
        for key, one in value.items():
            rest = schema.get("additionalProperties", True)
            if key in schema.get("properties", {}):
                found += faults(one, schema["properties"][key], f"{where}.{key}")
            elif rest is False:
                found.append(f"{where} has {key}, which the schema does not")
            elif isinstance(rest, dict):
                found += faults(one, rest, f"{where}.{key}")
    if isinstance(value, list) and "items" in schema:
        for index, one in enumerate(value):
            found += faults(one, schema["items"], f"{where}[{index}]")
    return found


def check(name, record):
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    faults.definitions = schema.get("definitions", {})
    found = faults(record, schema)
    assert not found, "\n".join(found)
    return schema


class Data:
    def __init__(self, folder):
        self.folder = folder
        rng = np.random.default_rng(1)
        radius, phase = rng.uniform(0.5, 1.5, (12, 1)), rng.uniform(0, 6.28, (12, 1))
        t = 0.2 * np.arange(30)
        self.truth = np.stack([radius * np.cos(t + phase), -radius * np.sin(t + phase)], -1)
        self.late = np.stack([radius * np.cos(0.9 * t + phase), -radius * np.sin(0.9 * t + phase)], -1)
        self.energy = (self.truth ** 2).sum(-1) / 2
        self.mix = rng.normal(size=(2, 5))
        self.frames = rng.uniform(0.2, 1, (12, 30, 4, 4, 1))
        self.surprise = rng.uniform(size=(20, 4)) + [0, 0, 0.5, 0.5]
        self.feature = rng.normal(size=(20, 4, 3))

    def save(self, **arrays):
        np.savez(self.folder / "x.npz", **arrays)
        return self.folder / "x.npz"


@pytest.fixture(scope="module")
def data(shared):
    return Data(shared)


def cases(data):
    """Schema, command, options and arrays of records that differ in what is measured."""
    z, late = data.truth @ data.mix, data.late @ data.mix
    truth, noise = {"truth": data.truth}, 0.01 * data.frames
    yield "probe", ["probe"], {"latent": z, **truth, "energy": data.energy, "g": np.ones(12)}
    yield "probe", ["probe", "--linear-only", "--no-controls", "--resamples", "0"], {"latent": z, **truth}
    yield "probe", ["probe", "--ood", "energy"], {"latent": z, **truth, "energy": data.energy, "frames": data.frames, "action": data.truth}
    yield "forecast-states", ["forecast"], {**truth, "prediction": data.late}
    yield "forecast-states", ["forecast", "--samples-axis", "1"], {**truth, "prediction": np.stack([data.late, data.truth], 1)}
    yield "forecast-states", ["forecast", "--context", "1", "--resamples", "0"], {
        **truth, "prediction": data.late, "energy": data.energy, "prediction_energy": data.energy}
    yield "forecast", ["forecast", "--split", "10"], {"truth": data.frames, "prediction": data.frames + noise}
    yield "forecast", ["forecast", "--split", "10"], {"truth": data.frames, "prediction": data.frames + noise, "backward": data.frames}
    yield "dynamics", ["dynamics"], {"latent": late, "encoded": z, **truth, "energy": data.energy}
    yield "dynamics", ["dynamics", "--resamples", "0"], {"latent": late, "encoded": z, "truth": data.truth[..., :1]}
    yield "surprise", ["surprise"], {"surprise": data.surprise}
    yield "surprise", ["surprise", "-k", "3"], {"surprise": data.surprise, "feature": data.feature, "concept": np.arange(20) % 2}


def measure_cases(data):
    """Options and arrays of plumb measure whose records differ."""
    mix = np.array([[0.8, 0.6], [-0.6, 0.8]])
    good = {"latent": data.truth @ mix, "truth": data.truth}
    yield [], good
    yield ["--resamples", "0"], {**good, "energy": data.energy, "m": np.linspace(1, 2, 12)}
    yield ["--constants", "m"], {**good, "m": np.linspace(1, 2, 12)}
    yield ["--published"], good
    yield ["--coordinates-only", "--symplectic"], good
    yield ["--mode", "reference", "--batch", "4", "--mask", "variance"], {**good, "variance": np.full((12, 2), 0.1)}
    yield ["--lagrangian"], good
    yield [], {"latent": 0 * data.truth, "truth": data.truth}
    spoilt = np.where(np.arange(12)[:, None, None] == 3, np.nan, good["latent"])
    yield ["--drop-nonfinite", "--drop-diverged"], {**good, "latent": spoilt}


def command_cases(folder):
    """Schema and words of every other command, in an order in which each finds its files."""
    run, videos = folder / "run", folder / "videos.npz"
    yield "worlds", ["worlds"]
    yield "doctor", ["doctor"]
    yield "simulate", ["simulate", "mass-spring", "--count", 3, "--steps", 12, "--out", videos]
    yield "convert", ["convert", videos, folder / "x.tfrecord"]
    yield "show", ["show", videos, "--out", folder / "x.png"]
    yield "train", ["train", "hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", 2, "--out", run]
    yield "evaluate", ["evaluate", run, "--count", 2, "--steps", 20, "--measured", 6, "--method", "pr"]
    yield "evaluate", ["evaluate", run, "--count", 2, "--steps", 20, "--measured", 6, "--method", "pr", "--protocol", "paper", "--no-save"]
    yield "loops", ["evaluate", run, "--loops", 3, "--loop-states", 8]
    yield "rollout", ["rollout", run, "--count", 2, "--steps", 20, "--out", folder / "r.npz"]
    yield "report", ["report", folder / "r.npz", "--out", folder / "r.html"]
    yield "simulate", ["simulate", "rooms/solidity", "--count", 12, "--image", 16, "--out", folder / "rooms.npz"]
    yield "audit", ["audit", folder / "rooms.npz"]
    yield "train", ["train", "predrnn", "--world", "rooms/freeform", "--preset", "tiny", "--steps", 1, "--out", folder / "video"]
    yield "evaluate-video", ["evaluate", folder / "video", "--tuples", 10, "--films", 2]
    (folder / "study.yaml").write_text("defaults: {preset: tiny, steps: 2}\nruns:\n  - {model: hgn++, world: mass-spring}\n"
                                       "evaluate: {count: 2, steps: 10, measured: 4, method: pr}\n")
    yield "sweep-plan", ["sweep", folder / "study.yaml", "--out", folder / "sweep", "--plan"]
    yield "sweep", ["sweep", folder / "study.yaml", "--out", folder / "sweep"]
    yield "surprise-example", ["surprise", "--example"]


def write_clips(folder):
    rng = np.random.default_rng(4)
    (folder / "clips.csv").write_text("clip,group,possible,score\n" + "".join(
        f"c{i},g{i // 2},{i % 2},{rng.uniform() + (i % 2 == 0)}\n" for i in range(60)))
    return folder / "clips.csv"


CASES = 12


@pytest.mark.parametrize("index", range(CASES))
def test_records_have_the_form_of_their_schema(data, index):
    name, (command, *options), arrays = list(cases(data))[index]
    schema = check(name, Program(command).answer(data.save(**arrays), *options))
    assert schema["title"] and schema["additionalProperties"] is False and set(schema["required"]) == set(schema["properties"])


def test_records_of_measure_have_the_form_of_their_schema(data):
    for options, arrays in measure_cases(data):
        check("measure", Program("measure").answer(data.save(**arrays), *options))


def test_records_of_every_other_command_have_the_form_of_their_schema(tmp_path):
    for name, words in command_cases(tmp_path):
        assert check(name, json.loads(Program().run(*words, "--json").stdout))["title"]


def test_records_of_clips_have_the_form_of_their_schema(data):
    check("surprise-clips", Program("surprise").answer(write_clips(data.folder)))


@pytest.mark.parametrize("items", [1, 20])
def test_records_of_compare_have_the_form_of_their_schema(data, items):
    for name in "ab":
        np.save(data.folder / f"{name}.npy", np.random.default_rng(ord(name)).normal(size=(2, items)))
    check("compare", Program("compare").answer(data.folder / "a.npy", data.folder / "b.npy"))


def test_every_schema_is_tested(data, tmp_path):
    assert len(list(cases(data))) == CASES
    tested = {name for name, _, _ in cases(data)} | {name for name, _ in command_cases(tmp_path)}
    assert {path.stem for path in SCHEMAS.glob("*.json")} == tested | {"compare", "measure", "surprise-clips"}


def test_a_record_of_another_form_is_found(data):
    record = Program("forecast").answer(data.save(truth=data.truth, prediction=data.late))
    for wrong in ({**record, "new": 1}, {k: v for k, v in record.items() if k != "vpt"}, {**record, "mse": "0.1"},
                  {**record, "kind": "frames"}):
        with pytest.raises(AssertionError):
            check("forecast-states", wrong)
