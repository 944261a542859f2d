# SPDX-License-Identifier: MIT
"""plumb surprise on score files as the public code of other benchmarks writes them: csv.DictWriter, pandas, json.dump."""
import csv
import json

import numpy as np
import pytest

from program import Program

plumb = Program("surprise")
run, answer, refused = plumb.run, plumb.answer, plumb.refused
rng = np.random.default_rng(4)
QUADS = rng.gamma(2.0, 1.0, (30, 4, 6))
QUADS[:, 2:] += 0.4


def table(path, rows, delimiter=","):
    with open(path, "w", newline="") as f:
        writer = csv.DictWriter(f, fieldnames=list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def quadruple_rows(frames=False):
    """A line for each clip, in an order that mixes the groups."""
    rows = [{"clip": f"g{t}_{c}.mp4", "group": f"g{t}", "possible": int(c < 2), "concept": "even" if t % 2 else "odd",
             **({f"t{i}": x for i, x in enumerate(QUADS[t, c])} if frames else {"score": QUADS[t, c].mean()})}
            for c in (3, 0, 2, 1) for t in range(30)]
    return rows


@pytest.fixture(scope="module")
def want(shared):
    np.savez(shared / "want.npz", surprise=QUADS, concept=np.array([["odd", "even"][t % 2] for t in range(30)]))
    return answer(shared / "want.npz")


def same(got, want, frames=True):
    for key in ("accuracy", "auroc", "pairwise", "relative_surprise"):
        assert abs(got["scorers"]["plain"][key] - want["scorers"]["plain"][key]) < 1e-12, key
    assert {c["name"]: c["scorers"]["plain"]["accuracy"] for c in got["concepts"]} == \
        {c["name"]: c["scorers"]["plain"]["accuracy"] for c in want["concepts"]}
    assert got["frames"] == (6 if frames else 0)


@pytest.mark.parametrize("frames", [False, True])
@pytest.mark.parametrize("kind", ["csv", "tsv", "json", "jsonl"])
def test_quadruples_of_a_table(want, kind, frames, tmp_path):
    rows, path = quadruple_rows(frames), tmp_path / f"scores.{kind}"
    if kind in ("csv", "tsv"):
        table(path, rows, "\t" if kind == "tsv" else ",")
    else:
        if frames:
            rows = [{**{k: v for k, v in r.items() if not k.startswith("t") or k == "type"}, "score": [r[f"t{i}"] for i in range(6)]} for r in rows]
        path.write_text(json.dumps(rows) if kind == "json" else "\n".join(json.dumps(r) for r in rows) + "\n")
    same(answer(path), want, frames)


def test_names_and_scores_with_a_table_that_says_what_they_are(want, tmp_path):
    rows = quadruple_rows()
    (tmp_path / "a.json").write_text(json.dumps({"videos/" + r["clip"].replace(".mp4", ""): r["score"] for r in rows}))
    (tmp_path / "b.json").write_text(json.dumps({r["clip"]: {"score": r["score"], "other": 1} for r in rows}))
    metadata = table(tmp_path / "metadata.csv", [{"file_name": r["clip"], "SceneIndex": r["group"], "type": "1_Possible" if r["possible"] else
                                                  "2_Impossible", "condition": r["concept"]} for r in rows])
    for name in "a.json", "b.json":
        same(answer(tmp_path / name, "--metadata", metadata), want, False)
    refused("does not say whether the clip", tmp_path / "a.json")
    table(metadata, [{"file_name": r["clip"], "type": "possible"} for r in rows[1:]])
    refused("is not in the table", tmp_path / "a.json", "--metadata", metadata)


def test_pairs_and_one_valid_clip_to_many_invalid_ones(tmp_path):
    pairs = rng.normal(size=(50, 2, 5))
    np.savez(tmp_path / "pairs.npz", surprise=pairs)
    np.savez(tmp_path / "two.npz", possible=pairs[:, :1], impossible=pairs[:, 1:])
    (tmp_path / "two.json").write_text(json.dumps({"possible": pairs[:, 0].mean(1).tolist(), "impossible": pairs[:, 1].mean(1).tolist()}))
    share = (pairs[:, 1].mean(1) > pairs[:, 0].mean(1)).mean()
    for name in "pairs.npz", "two.npz", "two.json":
        got = answer(tmp_path / name)["scorers"]["plain"]
        assert got["accuracy"] == got["matched"] == got["benchmarks"]["vjepa"]["relative_accuracy"] == share, name
    many = rng.normal(size=(20, 3))
    np.savez(tmp_path / "many.npz", possible=pairs[:20, 0, 0], impossible=many)
    said = run(tmp_path / "many.npz", "--json")
    got = json.loads(said.stdout)
    assert got["n"] == 60 and got["scorers"]["plain"]["accuracy"] == (many > pairs[:20, :1, 0]).mean()
    assert "20 groups of any size" in said.stderr


def test_groups_in_json_may_have_both_sides_in_one_object(tmp_path):
    sides = [(rng.normal(size=2), rng.normal(size=2)) for _ in range(40)]
    flat = [{"clip": f"{i}/{k}", "group": i, "possible": k == 0, "score": s} for i, both in enumerate(sides) for k in (0, 1) for s in both[k]]
    (tmp_path / "flat.json").write_text(json.dumps(flat))
    want = answer(tmp_path / "flat.json")["scorers"]["plain"]
    named = {f"scene {i}": {"possible": list(a), "impossible": list(b)} for i, (a, b) in enumerate(sides)}
    for form in (named, {"model": "m", "results": {"inertia": named}}, list(named.values()),
                 [{"scene": name, "valid": both["possible"], "invalid": both["impossible"]} for name, both in named.items()]):
        (tmp_path / "a.json").write_text(json.dumps(form))
        assert answer(tmp_path / "a.json")["scorers"]["plain"] == want
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"id": i, "possible": a[0], "impossible": b[0]}) for i, (a, b) in enumerate(sides)))
    assert answer(tmp_path / "a.jsonl")["scorers"]["plain"]["accuracy"] == np.mean([b[0] > a[0] for a, b in sides])
    # Beside a score they are flags of one clip.
    (tmp_path / "b.json").write_text(json.dumps([{**clip, "impossible": not clip["possible"]} for clip in flat]))
    assert answer(tmp_path / "b.json")["scorers"]["plain"] == want


def test_single_labelled_clips_have_an_auroc_and_no_accuracy_of_tuples(tmp_path):
    score, label = rng.normal(size=300), rng.random(300) < 0.3
    score[~label] += 1
    path = table(tmp_path / "single.csv", [{"clip": f"v{i}", "label": int(p), "surprise": s} for i, (s, p) in enumerate(zip(score, label))])
    got = answer(path)
    assert abs(got["auroc"] - (score[~label][:, None] > score[label]).mean()) < 1e-12 and got["possible"] == label.sum()
    assert got["auroc_ci"][0] < got["auroc"] < got["auroc_ci"][1] and 0.5 < got["clips"]["accuracy"] < 0.85 and "scorers" not in got
    fixed = answer(path, "--threshold", 0.5)["clips"]
    assert abs(fixed["type1"] - (score[~label] < 0.5).mean()) < 1e-12 and abs(fixed["type2"] - (score[label] >= 0.5).mean()) < 1e-12
    assert "without groups" in run(path).stdout
    refused("both are needed", table(tmp_path / "one.csv", [{"clip": "a", "label": 1, "score": 2}]))


def test_likephys(tmp_path):
    """results_<model>.json of LikePhys: every valid clip of a scene against every clip of a variation."""
    def clips(n, shift):
        return {f"{i}.mp4": {"loss_array": (rng.normal(size=4) + shift).tolist()} for i in range(n)}

    scenes = {f"scene{k}": {"valid": clips(2, 0), "teleport": clips(3, 0.5), "colour": clips(1, -0.5)} for k in range(8)}
    (tmp_path / "results_model.json").write_text(json.dumps({"model": "m", "scene_evaluations": scenes}))
    misranked = {}
    for variation in "teleport", "colour":  # as its own script counts
        ratios = []
        for scene in scenes.values():
            valid, invalid = ([np.mean(c["loss_array"]) for c in scene[k].values()] for k in ("valid", variation))
            ratios.append(np.mean([v > i for v in valid for i in invalid]))
        misranked[variation] = np.mean(ratios)
    got = answer(tmp_path / "results_model.json")
    for concept in got["concepts"]:
        assert abs(1 - concept["scorers"]["plain"]["accuracy"] - misranked[concept["name"]]) < 1e-12
    assert abs(1 - got["scorers"]["plain"]["accuracy"] - np.mean(list(misranked.values()))) < 1e-12


def test_inflevel(tmp_path):
    """The table of InfLevel's evaluator: four trial types of each place; a high score means plausible."""
    rows = []
    for camera in "ab":
        for cover in "xyz":
            for obj in range(5):
                for kind, shift in (("vv", 0.3), ("ii", 0.3), ("iv", 0), ("vi", 0)):
                    rows.append({"camera_loc": camera, "cover": cover, "obj": obj, "dir": "l", "trial_type": kind, "plausibility": rng.normal() + shift})
    rows.pop(5)
    path = table(tmp_path / "scores.csv", rows)
    got = run(path, "--score", "plausibility", "--json")
    assert "3 clips of incomplete groups are left out" in got.stderr and "higher scores mean more plausible" in got.stderr
    whole = {}
    for r in rows:
        whole.setdefault((r["camera_loc"], r["cover"], r["obj"]), {})[r["trial_type"]] = r["plausibility"]
    whole = [g for g in whole.values() if len(g) == 4]
    want = np.mean([[g[real] > g[magic] for real in ("vv", "ii") for magic in ("iv", "vi")] for g in whole])
    assert abs(json.loads(got.stdout)["scorers"]["plain"]["benchmarks"]["inflevel"]["accuracy"] - want) < 1e-12


@pytest.mark.parametrize("sign", [1, -1])
def test_inflevel_with_a_row_for_each_pair(sign, tmp_path):
    """InfLevel's own tables have vid1_path, vid1_label, vid2_path and vid2_label; here with a score of each clip."""
    rows, right = [], {"gravity": [], "solidity": []}
    for i in range(24):
        kind, score, first = ["gravity", "solidity"][i % 2], rng.normal(size=2) + [0, 0.5], i % 3 > 0
        right[kind].append(score[0] < score[1])
        clips = [(f"{kind}/center__{i}__ui.mp4", "possible", score[0]), (f"{kind}/center__{i}__uv.mp4", "impossible", score[1])]
        rows.append({f"vid{k + 1}_{name}": value for k, clip in enumerate(clips if first else clips[::-1])
                     for name, value in zip(("path", "label", "score"), (clip[0], clip[1], sign * clip[2]))})
    path = table(tmp_path / "pairs.csv", rows)
    got = answer(path, *(["--plausible"] if sign < 0 else []))
    assert {c["name"]: c["scorers"]["plain"]["accuracy"] for c in got["concepts"]} == {k: np.mean(v) for k, v in right.items()}
    refused('has no column "vid1_loss"', path, "--score", "loss")
    refused("expected a number", table(tmp_path / "bad.csv", [{**rows[0], "vid2_score": "high"}]))


def test_intphys(tmp_path):
    """Answers by the path of a scene, and a table of the labels in status.json."""
    names = [f"O{b}/{s:02d}/{c}" for b in (1, 2) for s in range(1, 11) for c in range(1, 5)]
    score = rng.random(len(names))
    (tmp_path / "answer.json").write_text(json.dumps({n: {"score": float(s)} for n, s in zip(names, score)}))
    metadata = table(tmp_path / "dev.csv", [{"videoid": n, "label": int(n[-1] in "12"), "num_frames": 100} for n in names])
    got = answer(tmp_path / "answer.json", "--metadata", metadata, "--plausible")
    each = score.reshape(2, 10, 4)
    right = each[..., :2].sum(2) > each[..., 2:].sum(2)
    assert [c["scorers"]["plain"]["accuracy"] for c in got["concepts"]] == right.mean(1).tolist()
    assert abs(got["scorers"]["plain"]["benchmarks"]["intphys"]["relative_error"] - 1 + right.mean()) < 1e-12


def test_scores_of_a_language_model(tmp_path):
    """JSON as people write it by hand: names with what was said, nested folders, a description of the run, labels as JSON."""
    names = [f"O{b}/{s:02d}/{c}" for b in (1, 2) for s in range(1, 11) for c in range(1, 5)]
    score = dict(zip(names, rng.random(len(names)).tolist()))
    possible = {n: n[-1] in "12" for n in names}
    nested, labels = {}, tmp_path / "labels.json"
    for n in names:
        block, scene, clip = n.split("/")
        nested.setdefault(block, {}).setdefault(scene, {})[clip] = score[n]
    labels.write_text(json.dumps({n: {"header": {"is_possible": p}, "frames": [1, 2]} for n, p in possible.items()}))
    (tmp_path / "flat.json").write_text(json.dumps({n: p for n, p in possible.items()}))
    csv_labels = table(tmp_path / "labels.csv", [{"videoid": n, "label": int(p)} for n, p in possible.items()])
    files = {"said": {n: {"plausibility": s, "text": "The ball is there."} for n, s in score.items()}, "nested": nested,
             "model": {"model": "m", "results": [{"video": n, "score": s} for n, s in score.items()]},
             "wrapped": {"seed": 1, "scores": score}, "chosen": {n: {"answer": {"value": s}} for n, s in score.items()}}
    want = None
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
        for metadata in labels, tmp_path / "flat.json", csv_labels:
            options = (["--score", "answer.value"] if name == "chosen" else []) + ([] if name == "said" else ["--plausible"])
            got = answer(tmp_path / f"{name}.json", "--metadata", metadata, *options)
            got = {c["name"]: c["scorers"]["plain"]["accuracy"] for c in got["concepts"]}
            want = want or got
            assert got == want and set(got) == {"O1", "O2"}, (name, metadata)
    refused('has no score: no member "score", only "value"', tmp_path / "chosen.json", "--metadata", labels)
    refused('has no column "clip" or "name", only "scene", "label"', tmp_path / "said.json", "--metadata",
            table(tmp_path / "scenes.csv", [{"scene": "a", "label": 1}]))
    for text, words in (("[]", "expected a list"), ("3", "expected a list"), ("[1]", "an object for each clip"), ("{", "")):
        (tmp_path / "bad.json").write_text(text)
        refused(words, tmp_path / "said.json", "--metadata", tmp_path / "bad.json")


def test_columns_may_be_the_concept_together(tmp_path):
    rows = [{"clip": f"{t}{c}", "group": t, "possible": c, "Difficulty": "Hard" if t % 2 else "Easy", "Camera": "Moving", "score": t + c}
            for t in range(6) for c in range(2)]
    got = answer(table(tmp_path / "c.csv", rows), "--concept-by", "Difficulty,Camera")
    assert sorted(c["name"] for c in got["concepts"]) == ["Easy x Moving", "Hard x Moving"]
    refused("has no column \"Colour\"", tmp_path / "c.csv", "--concept-by", "Colour")


def test_what_cannot_be_read_is_one_line(tmp_path):
    for name, text, words in (("a.csv", "clip,group,possible\nx,1,1\n", "has no column \"score\""),
                              ("b.csv", "clip,group,possible,score\nx,1,1,two\n", "line 2 has \"two\""),
                              ("c.csv", "clip,group,possible,score\nx,1,1,2\n", "has 1 possible and 0 impossible"),
                              ("d.csv", "", "does not name the columns"), ("e.csv", "clip,score\n1,2,3\n", "has 3 fields"),
                              ("f.json", "[1]", "expected an object"), ("g.json", "{", ""), ("h.jsonl", "{\"score\": \"x\"}\n", "no number"),
                              ("i.json", "{\"a\": []}", "has no score"), ("j.csv", "clip,group,possible,score\n", "has no clips"),
                              ("k.json", "{\"scene_evaluations\": {}}", "has no clips"),
                              ("l.csv", "clip,group,possible,score\nx,1,maybe,2\n", "says \"maybe\" of the clip \"x\""),
                              ("m.json", "[{\"name\": \"x\", \"possible\": \"perhaps\", \"score\": 1}]", "says \"perhaps\"")):
        (tmp_path / name).write_text(text)
        refused(words, tmp_path / name)


def test_motion_of_a_table_is_held_fixed(tmp_path):
    motion = rng.normal(size=(200, 2)) + [0, 1]
    rows = [{"clip": f"{g}{c}", "group": g, "possible": int(not c), "motion_energy": motion[g, c], "frame_difference": motion[g, c] ** 2,
             "score": motion[g, c] + 0.01 * rng.normal()} for g in range(200) for c in range(2)]
    got = answer(table(tmp_path / "m.csv", rows))["scorers"]["plain"]
    assert got["accuracy"] > 0.6 and abs(got["motion"]["adjusted_accuracy"] - 0.5) < 0.15 and got["motion"]["alone_accuracy"] > 0.6
    assert "motion held fixed" in run(tmp_path / "m.csv").stdout
    assert answer(table(tmp_path / "n.csv", [{k: v for k, v in r.items() if "_" not in k} for r in rows]))["scorers"]["plain"]["motion"] is None
