# SPDX-License-Identifier: MIT
"""Video models as a user trains and evaluates them: predrnn and plato on the rooms, at the smallest size."""
import json

import numpy as np
import pytest

from paths import SANITIZE
from program import Program

plumb = Program()
FEW = ("--tuples", 10, "-k", 3, "--films", 4)
CONCEPTS = ["continuity", "directional_inertia", "object_persistence", "solidity", "unchangeableness"]
MODELS = ["predrnn", "plato"]
# With sampling, layer norm and the second version of PredRNN too.
PARTS = ("--set", "decay=constant", "--set", "sampling=reverse", "--set", "layer_norm=on", "--set", "decoupling_weight=0.1")


@pytest.fixture(scope="module")
def runs(shared):
    """Both models, trained on free clips, and what was printed."""
    said = {model: plumb.answer("train", model, "--preset", "tiny", "--world", "rooms/freeform", "--out", shared / model) for model in MODELS}
    return shared, said


@pytest.fixture(scope="module")
def predrnn(runs):
    return runs[0] / "predrnn"


@pytest.mark.parametrize("model", MODELS)
def test_surprise_errors_and_baselines_are_measured_and_kept(runs, model):
    folder, said = runs
    assert said[model]["model"] == model and said[model]["finished"] is True
    few = ("--tuples", 2, "-k", 2, "--films", 2) if SANITIZE and model == "plato" else FEW  # a minute otherwise
    answer = plumb.answer("evaluate", folder / model, *few)
    assert answer["model"] == model and answer["steps"] == 20
    assert list(answer["mse"]) == ["free", *CONCEPTS]
    assert answer["mse"]["free"]["model"] > 0 and "oracle" not in answer["mse"]["free"]
    for name, right in ("copy", 0), ("oracle", 1):
        assert answer["references"][name]["scorers"]["plain"]["accuracy"] == right, name
    assert 0 <= answer["surprise"]["scorers"]["knn"]["accuracy"] <= 1
    assert [c["name"] for c in answer["concepts"]] == CONCEPTS
    for scorers in answer["overall"], answer["concepts"][0]["scorers"]:
        assert {"accuracy", "relative_surprise"} <= scorers["plain"].keys() and "knn" in scorers
    saved = json.loads((folder / model / "results.json").read_text())["evaluate"]
    assert saved["surprise"]["scorers"] == answer["surprise"]["scorers"]


def test_the_table_and_a_bar_that_is_not_met(predrnn):
    done = plumb.run("evaluate", predrnn, *FEW, "--require", "accuracy=1", code=3)
    for words in ("accuracy, % of tuples", "copy", "oracle", "40 of 40 tuples are ties", "published, on other clips", "mean squared error per frame"):
        assert words in done.stdout
    plumb.refused("takes accuracy", "evaluate", predrnn, "--require", "beauty=1", code=2)


def test_a_model_of_the_impossible_gives_the_naive_scorer_and_a_file_for_plumb_surprise(predrnn, tmp_path):
    plumb.run("train", "predrnn", "--preset", "tiny", "--world", "rooms/impossible", "--out", tmp_path / "naive")
    answer = plumb.answer("evaluate", predrnn, *FEW, "--naive", tmp_path / "naive", "--save", tmp_path / "scores.npz")
    assert "accuracy" in answer["surprise"]["scorers"]["naive"]
    again = plumb.answer("surprise", tmp_path / "scores.npz", "-k", 3)
    for scorer in again["scorers"]:
        assert again["scorers"][scorer]["score"] == answer["surprise"]["scorers"][scorer]["score"], scorer
    assert again["unit"] == answer["surprise"]["unit"] == "sum"


def test_the_unit_is_the_sum_over_pixels_and_frames_and_the_mean_on_request(predrnn, tmp_path):
    few = ("evaluate", predrnn, "--tuples", 5, "--films", 0, "--save", tmp_path / "scores.npz")
    total = plumb.answer(*few)["surprise"]
    with np.load(tmp_path / "scores.npz") as arrays:
        frames = arrays["surprise"]
    mean = plumb.answer(*few, "--unit", "mean")["surprise"]
    assert total["unit"] == "sum" and mean["unit"] == "mean" and total["k"] == 1 and total["least_observed"] == 2
    # By the splice possible and impossible clips have the same pairs of frames: motion cannot tell them apart.
    assert total["scorers"]["plain"]["motion"]["matched"] == total["n"] and total["scorers"]["plain"]["motion"]["alone_accuracy"] == 0
    a, b = (np.array(one["scorers"]["plain"]["score"]) for one in (total, mean))
    assert np.allclose(a, 16 * 16 * 3 * 14 * b, rtol=1e-12) and np.allclose(a, frames[total["tested"]].sum(2), rtol=1e-12)


def test_rooms_may_be_named_as_probes(predrnn, tmp_path):
    few = ("evaluate", predrnn, "--tuples", 4, "--films", 0, "--scorer", "plain")
    answer = plumb.answer(*few, "--probes", "rooms/support", "--probes", "rooms/collision", "--probes", "rooms/continuity-hard")
    assert [c["name"] for c in answer["surprise"]["concepts"]] == ["support", "collision", "continuity_hard"]
    table = plumb.run(*few, "--probes", "rooms/support", "--probes", "rooms/collision").stdout
    assert [line.split() for line in table.splitlines() if line.split()[:1] == ["oracle"]][0] == ["oracle", "100", "100", "100"]
    assert [line.split() for line in table.splitlines() if line.split()[:1] == ["copy"]][0] == ["copy", "0", "0", "0"]
    plumb.refused("rooms/impossible", *few, "--probes", "rooms/impossible")


def test_concepts_that_the_paper_does_not_have_stand_below_its_five(predrnn):
    few = ("evaluate", predrnn, "--tuples", 4, "--films", 0, "--scorer", "plain,knn")
    usual, named = plumb.answer(*few), plumb.answer(*few, "--probes", "rooms/support", "--probes", "rooms/collision")
    assert [c["name"] for c in usual["surprise"]["concepts"]] == CONCEPTS and list(usual["mse"]) == CONCEPTS
    # The same numbers as by name; the overall value is the mean of the five.
    assert [c["name"] for c in usual["more_concepts"]] == ["support", "collision"] and "more_concepts" not in named
    for more, own in zip(usual["more_concepts"], named["concepts"]):
        assert more["scorers"] == own["scorers"] and more["mse"] == named["mse"][own["name"]]
    mean = np.mean([c["scorers"]["plain"]["accuracy"] for c in usual["concepts"]])
    assert usual["overall"]["plain"]["accuracy"] == pytest.approx(mean)
    table = plumb.run(*few).stdout
    assert "that the paper does not have" in table and "support" in table


def test_evaluate_has_the_options_of_surprise(predrnn, tmp_path):
    def options(command):
        text = plumb.run(command, "--help").stdout
        return {word.strip(",") for word in text.split() if word.startswith("--")}

    own = {"--surprise", "--truth", "--prediction", "--feature", "--observation", "--surprise-voe", "--concept", "--metadata", "--context",
           "--score", "--plausible", "--concept-by", "--motion", "--observation-concept", "--example"}
    assert options("surprise") - own <= options("evaluate")
    few = ("evaluate", predrnn, "--tuples", 10, "--films", 0)
    answer = plumb.answer(*few, "--scorer", "plain,knn,lr", "--gamma", "auto", "--prior", 0.2, "--threshold", "level", "--frames", "max",
                          "--items", tmp_path / "items.jsonl", "--figure", tmp_path / "roc.svg", "--save", tmp_path / "scores.npz")["surprise"]
    assert list(answer["scorers"]) == ["plain", "knn", "lr"] and answer["gamma_auto"] and answer["frames_joined_by"] == "max"
    assert answer["scorers"]["lr"]["clips"] == answer["scorers"]["lr"]["level"] and answer["prior"] == 0.2
    again = plumb.answer("surprise", tmp_path / "scores.npz", "--scorer", "plain,knn,lr", "--gamma", "auto", "--prior", 0.2, "--threshold",
                         "level", "--frames", "max")
    assert again["scorers"]["lr"]["score"] == answer["scorers"]["lr"]["score"]
    assert len((tmp_path / "items.jsonl").read_text().splitlines()) == 40 and "<svg" in (tmp_path / "roc.svg").read_text()
    plumb.refused("there is no scorer", *few, "--scorer", "kmn", code=2)
    assert "single clips" in plumb.run(*few).stdout


@pytest.mark.parametrize("model", MODELS)
def test_a_rollout_has_predicted_frames_and_features_for_plumb_surprise(runs, model, tmp_path):
    run, out = runs[0] / model, tmp_path / "roll.npz"
    plumb.run("rollout", run, "--count", 3, "--out", out)
    with np.load(out) as arrays:
        truth, prediction, feature, surprise = (arrays[n] for n in ("truth", "prediction", "feature", "surprise"))
        names = [bytes(c).rstrip(b"\0").decode() for c in arrays["concept"]]
    assert truth.shape == (15, 4, 15, 16, 16, 3) and truth.dtype == np.uint8 and prediction.shape == (15, 4, 14, 16, 16, 3)
    assert names == [c for c in CONCEPTS for _ in range(3)] and feature.shape[:2] == (15, 4) and feature.std() > 0
    if model == "predrnn":  # the surprise of PLATO is between decoded frames
        assert np.allclose(((truth[:, :, 1:] / 255.0 - prediction) ** 2).sum((3, 4, 5)), surprise, rtol=1e-4)
    saved = tmp_path / "scores.npz"
    plumb.run("evaluate", run, "--tuples", 3, "--films", 0, "--save", saved)
    with np.load(saved) as arrays:
        assert np.array_equal(arrays["surprise"], surprise) and np.array_equal(arrays["feature"], feature)
    assert plumb.answer("surprise", out)["unit"] == "sum"
    plumb.run("rollout", run, "--count", 2, "--world", "rooms/freeform", "--out", out)
    with np.load(out) as arrays:
        assert arrays["frames"].shape == arrays["prediction"].shape == (2, 14, 16, 16, 3) and arrays["feature"].shape == (2, feature.shape[2])
    plumb.run("rollout", run, "--count", 2, "--world", "rooms/solidity", "--out", out)
    with np.load(out) as arrays:
        assert arrays["truth"].shape[:2] == (2, 4)
    plumb.refused("is a video model", "rollout", run, "--backward", "--out", out, code=2)
    page = tmp_path / "page.html"
    plumb.run("report", run, "--out", page)
    assert "predicted" in page.read_text()


@pytest.mark.parametrize("image", [20, 32])
def test_a_naive_model_of_another_frame_size_is_refused(image, predrnn, tmp_path):
    """A smaller one gave a number without meaning, a larger one read past its buffer."""
    plumb.run("train", "predrnn", "--preset", "tiny", "--world", "rooms/impossible", "--set", f"image={image}", "--steps", 1, "--out",
              tmp_path / "naive")
    plumb.refused(f"was trained on frames of {image}x{image}x3", "evaluate", predrnn, *FEW, "--naive", tmp_path / "naive")


def test_a_naive_model_is_another_run_of_the_same_model(runs, predrnn, tmp_path):
    plumb.refused("is the run that is evaluated", "evaluate", predrnn, *FEW, "--naive", predrnn, code=2)
    (tmp_path / "link").symlink_to(predrnn)
    plumb.refused("is the run that is evaluated", "evaluate", predrnn, *FEW, "--naive", tmp_path / "link", code=2)
    plumb.refused("is a run of plato", "evaluate", predrnn, *FEW, "--naive", runs[0] / "plato", code=2)


def test_first_is_the_first_tuple_of_a_file_of_probes(predrnn, tmp_path):
    probes = tmp_path / "solid.npz"
    plumb.run("simulate", "rooms/solidity", "--count", 12, "--image", 16, "--out", probes)
    few = ("evaluate", predrnn, "--probes", probes, "--films", 0, "-k", 2)

    def errors(*more):
        plumb.run(*few, *more, "--save", tmp_path / "scores.npz")
        with np.load(tmp_path / "scores.npz") as arrays:
            return arrays["surprise"]

    whole = errors()
    assert (errors("--first", 5, "--tuples", 4) == whole[5:9]).all()
    assert (errors("--first", 7) == whole[7:]).all() and len(whole) == 12
    plumb.refused("there is no tuple 12", *few, "--first", 12, code=2)


def test_calm_and_still_choose_the_clips_and_threads_change_no_bit(tmp_path):
    # Before it has learnt anything, the error is what changes in the clips it is shown: less in calm ones, and where the camera stands.
    def first(name, *how):
        return plumb.answer("train", "predrnn", "--preset", "tiny", "--world", "rooms/freeform", "--set", "trajectories=64", "--set",
                            "batch=32", "--steps", 1, *how, "--out", tmp_path / name)["loss"]

    any_clips = first("any")
    assert first("calm", "--set", "change_scale=1e-4") < 0.8 * any_clips, "calm clips are not shown more often"
    assert first("still", "--set", "camera_motion_share=0.12") < 0.8 * any_clips, "cameras that move are shown"
    assert first("settle", "--set", "camera_motion_share=0.12", "--set", "camera_motion_steps=2") == any_clips, "they are not shown before it settles"
    first("calm-1", "--set", "change_scale=1e-4", "--threads", 1)
    assert (tmp_path / "calm/weights.safetensors").read_bytes() == (tmp_path / "calm-1/weights.safetensors").read_bytes()


def test_each_part_of_plato_may_have_a_learning_rate_that_rises_and_falls(tmp_path):
    def train(name, phases):
        plumb.run("train", "plato", "--preset", "tiny", "--world", "rooms/freeform", "--set", f"phase_rates={phases}", "--set", "log_steps=1", "--set",
                  "warmup=2", "--set", "decay=cosine", "--set", "steps=18", "--set", "perception_steps=10", "--out", tmp_path / name)
        return [json.loads(line)["rate"] for line in (tmp_path / name / "log.jsonl").read_text().splitlines()]

    rates, one = train("parts", "on"), train("one", "off")
    assert len(rates) == len(one) == 18
    assert max(rates[:10]) == max(rates[10:]) == max(one), "a part does not reach the full rate"
    assert rates[9] < 0.1 * max(rates) and rates[10] > 5 * rates[9] and rates[17] < 0.1 * max(rates), "a part does not end at a low rate"
    assert one[9] > 0.5 * max(one), "one schedule has fallen at the end of the first part"


def test_clips_and_probes_may_come_from_files(tmp_path):
    run, probes = tmp_path / "filed", tmp_path / "solid.npz"
    plumb.run("simulate", "rooms/freeform", "--count", 6, "--image", 16, "--out", tmp_path / "free.npz")
    plumb.run("train", "predrnn", "--preset", "tiny", "--data", tmp_path / "free.npz", "--out", run)
    plumb.run("simulate", "rooms/solidity", "--count", 10, "--image", 16, "--out", probes)
    assert list(plumb.answer("evaluate", run, *FEW, "--probes", probes)["mse"]) == ["solidity"]
    answer = plumb.answer("evaluate", run, *FEW, "--probes", probes, "--world", "rooms/freeform")
    assert answer["mse"]["free"]["clips"] == 4
    plumb.refused("by --probes", "evaluate", run, "--data", tmp_path / "free.npz", code=2)


@pytest.mark.parametrize("model, more", [("predrnn", PARTS), ("plato", PARTS[:2])], ids=MODELS)
def test_a_run_in_two_parts_and_on_other_threads_has_the_same_bits(model, more, tmp_path):
    begin = ("train", model, "--preset", "tiny", "--world", "rooms/freeform", *more)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    plumb.run(*begin, "--steps", 16, "--threads", 1, "--out", whole)
    plumb.run(*begin, "--steps", 7, "--out", parts)
    plumb.run("train", "--resume", "--steps", 16, "--threads", 2, "--out", parts)
    assert (whole / "weights.safetensors").read_bytes() == (parts / "weights.safetensors").read_bytes()


def test_what_goes_wrong_is_one_line_and_leaves_no_weights(runs, predrnn, tmp_path):
    out = ("--out", tmp_path / "x")
    plumb.refused("k is 50", "evaluate", predrnn, "--tuples", 10, "-k", 50, code=2)
    plumb.refused("15 frames per clip", "train", "predrnn", "--world", "rooms/freeform", "--set", "frames=20", *out, code=2)
    plumb.refused("rooms/", "train", "predrnn", "--world", "rooms/attic", *out, code=2)
    plumb.refused("needs object masks", "train", "plato", "--world", "pendulum", *out, code=2)
    plumb.refused("needs object masks", "evaluate", runs[0] / "plato", *FEW, "--world", "pendulum", code=2)
    assert not (tmp_path / "x").exists() or not list((tmp_path / "x").glob("*.safetensors"))
