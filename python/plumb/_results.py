# SPDX-License-Identifier: MIT
"""Results: small objects that hold what the program prints with --json, and arrays beside it."""
import html
import json

from ._native import MissingError, PlumbError


class Result:
    """What was measured. Every key of to_dict() is an attribute."""

    def __init__(self, text, arrays=None, figure=None, kept=None):
        self._text = text
        self._record = json.loads(text)
        self._arrays = arrays or {}
        self._figure = figure  # its name
        self._kept = [kept] if kept else []  # the arrays it is drawn from

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        for source in (self._arrays, self._record):
            if name in source:
                return source[name]
        raise AttributeError(f"{type(self).__name__} has no {name}; there are "
                             + ", ".join([*self._record, *self._arrays]))

    def __dir__(self):
        return [*super().__dir__(), *self._record, *self._arrays]

    def __reduce__(self):
        return type(self), (self._text, self._arrays)

    def to_dict(self):
        """What `plumb ... --json` prints, as a dict of its own."""
        return json.loads(self._text)

    def _rows(self):
        """The rows of to_frame()."""
        return [self._record]

    def to_frame(self):
        """The result as a pandas DataFrame: one row, or a row per target, scorer, pair or run. Nested keys are joined by a dot."""
        try:
            import pandas
        except ImportError:
            raise MissingError("to_frame needs pandas, which is not installed") from None
        return pandas.DataFrame([_flat(row) for row in self._rows()])

    def _verdict(self):
        return "", []

    def __repr__(self):
        words, rows = self._verdict()
        numbers = ", ".join(f"{name} {value}" for name, value, _ in rows)
        return f"<{type(self).__name__}: {words}{': ' if words and numbers else ''}{numbers}>"

    def _repr_html_(self):
        words, rows = self._verdict()
        text = [f"<p><b>{html.escape(words)}</b></p>" if words else "", "<table>"]
        for name, value, interval in rows:
            cells = "".join(f"<td style='text-align:left;padding-right:1em'>{html.escape(words)}</td>" for words in (name, value, interval))
            text.append(f"<tr>{cells}</tr>")
        text.append("</table>")
        if self._figure:
            from ._report import drawing
            try:
                text.append(drawing(self._figure, self._text, self._kept[0] if self._kept else {})())
            except PlumbError as why:  # a verdict without a figure is better than none
                text.append(f"<p>{html.escape(str(why))}</p>")
        return "".join(text)


def _flat(row, before=""):
    """A dict without dicts: {"a": {"b": 1}} becomes {"a.b": 1}."""
    out = {}
    for key, value in row.items():
        if isinstance(value, dict):
            out.update(_flat(value, f"{before}{key}."))
        else:
            out[before + key] = value
    return out


def number(value):
    return "undefined" if value is None else f"{value:.4g}"


def interval(value):
    return f"95 % [{value[0]:.4g}, {value[1]:.4g}]" if value and None not in value else ""


class Published:
    """The published numbers of a measurement: r2, sym, symetric, order, why and more, as attributes."""

    def __init__(self, record):
        self._record = record

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._record:
            raise AttributeError(f"no {name}; there are {', '.join(self._record)}")
        return self._record[name]

    def __dir__(self):
        return [*super().__dir__(), *self._record]

    def to_dict(self):
        return dict(self._record)

    def __repr__(self):
        return f"<Published: SyMetric {number(self.symetric)}, R2 {number(self.r2)}, Sym {number(self.sym)}: {self.why}>"


# What plumb measure --json prints of SyMetric, besides the keys that end in _ci.
PUBLISHED = ("method", "mode", "r2", "r2_heldout", "sym", "symetric", "order", "alpha", "why", "degenerate", "sym_floor", "sym_per_trajectory",
             "latents_used", "informative_dimensions", "n", "m", "unconverged", "training")


class Measurement(Result):
    """The verdict, its reason and the numbers behind it. `published` has R2, Sym and SyMetric."""

    @property
    def why(self):
        """The reason of the verdict, one sentence."""
        return self._record.get("verdict_why") or self._record.get("why")

    @property
    def passes(self):
        """True if the verdict is "learnt"."""
        return self._record.get("verdict") == "learnt"

    @property
    def published(self):
        """R2, Sym and SyMetric as published. They do not decide."""
        # With both methods the record has one object for each, and that of polynomials comes first.
        source = self._record.get("pr") or self._record
        return Published({key: value for key, value in source.items() if key in PUBLISHED or key in [name + "_ci" for name in PUBLISHED]})

    def _verdict(self):
        rows = [(name, number(self._record[key]), interval(self._record.get(key + "_ci")))
                for name, key in (("kappa", "kappa"), ("kappa, c by constants", "kappa_constants"), ("R2 of the state", "r2_state"))
                if self._record.get(key) is not None]
        rows += [(f"{name}, published", number(getattr(self.published, key)), interval(self.published.to_dict().get(key + "_ci")))
                 for name, key in (("SyMetric", "symetric"), ("R2", "r2"), ("Sym", "sym"))]
        return f"{self._record.get('verdict', 'no verdict')}: {self.why}", rows


class Symetric(Result):
    """R2, Sym, SyMetric and the reason; docs/measures-symetric.md says what they mean."""

    @property
    def passes(self):
        """Did every fit pass?"""
        return self.symetric == 1

    def _verdict(self):
        rows = [(name, number(self._record[key]), interval(self._record.get(key + "_ci")))
                for name, key in (("SyMetric", "symetric"), ("R2", "r2"), ("R2 held out", "r2_heldout"),
                                  ("Sym", "sym"), ("kappa", "kappa"), ("canonical", "canonical"))
                if key in self._record]
        # With kappa the record has the verdict, which is what counts.
        if self._record.get("verdict"):
            return f"{self.verdict}: {self.verdict_why}", rows
        # The published words would contradict a verdict, which this has not.
        return "no verdict: SyMetric alone, as published; plumb.measure gives one", [*rows, ("as published", str(self.why), "")]


class Kappa(Result):
    """kappa and the verdict of plumb's own score: canonical is 1, 0, or None where the data do not determine it."""

    def _verdict(self):
        rows = [(name, number(self._record[key]), interval(self._record.get(key + "_ci")))
                for name, key in (("canonical", "canonical"), ("kappa", "kappa"), ("R2 of the state", "r2_state"))]
        return f"the coordinates alone: {self.canonical_why}", rows


class Forecast(Result):
    """MSE of reconstruction and extrapolation, VPT. `errors` is (trajectories, frames)."""

    def _verdict(self):
        length = self.forward["length"]
        rows = [(name, number(self._record[key]), interval(self._record.get(key + "_ci")))
                for name, key in (("VPT", "vpt"), ("MSE Rec", "rec_mse"), ("MSE Ext", "ext_mse"))]
        return f"right for {number(self.vpt)} of {length} frames beyond what it was trained to predict", rows


class StateForecast(Result):
    """Errors of predicted states and VPT. `errors` is (trajectories, scored), in deviations."""

    def _verdict(self):
        rows = [(name, number(self._record[key]), interval(self._record.get(key + "_ci")))
                for name, key in (("VPT", "vpt"), ("VRMSE", "vrmse"), ("NRMSE", "nrmse"), ("sMAPE", "smape"), ("MSE", "mse"))]
        rows += [(f"VRMSE, {name}", number(one["vrmse"]), "") for name, one in self.baselines.items() if one["vrmse"] is not None]
        return f"right for {number(self.vpt)} of {self.scored} steps", rows


class Dynamics(Result):
    """The verdict about the motion of rollouts, and the numbers it is made of."""

    def _verdict(self):
        rows = [("R2 of the readout", number(self.r2), ""), ("VPT", number(self.vpt), interval(self.vpt_ci)),
                ("VRMSE", number(self.motion["vrmse"]), interval(self.motion["vrmse_ci"])), ("range", number(self.range), "")]
        return f"{self.verdict}: {self.verdict_why}", rows


class Comparison(Result):
    """Models and pairs of models, lists of dicts."""

    def _rows(self):
        return self.pairs or self.models

    def _verdict(self):
        rows = [(one["name"], number(one["mean"]), interval(one["mean_ci"])) for one in self.models]
        rows += [(f"{one['first']} - {one['second']}, p {one['p_adjusted']:.3g}", number(one["difference"]),
                  interval(one["difference_ci"])) for one in self.pairs]
        return f"{len(self.models)} models on {self.items} items", rows


class Probe(Result):
    """R2 of every target by a linear and a non-linear probe, and controls. `targets` and `groups` are lists of dicts."""

    def target(self, name):
        """The line of one target or group."""
        for one in self.targets + self.groups:
            if one["name"] == name:
                return one
        raise KeyError(f"no target {name}; there are " + ", ".join(one["name"] for one in self.targets + self.groups))

    def _rows(self):
        return self.targets

    def _verdict(self):
        rows = [(f"R2, {one['name']}", number(one["linear"]["r2"]), interval(one["linear"]["r2_ci"]))
                for one in self.targets if one["linear"]]
        found = {kind: [one["name"] for one in self.targets if one["found"] == kind] for kind in ("linear", "nonlinear", "none")}
        words = [f"{text}: {', '.join(found[kind])}" for kind, text in (("linear", "read out linearly"),
                 ("nonlinear", "non-linearly only"), ("none", "not found")) if found[kind]]
        return "; ".join(words), rows


class Surprise(Result):
    """Accuracy and relative surprise by scorer."""

    def _rows(self):
        return [{"scorer": name, **one} for name, one in self.scorers.items()]

    def _verdict(self):
        rows = [(f"accuracy, {name}", number(s["accuracy"]), interval(s["accuracy_ci"]))
                for name, s in self.scorers.items()]
        best = max(self.scorers, key=lambda name: self.scorers[name]["accuracy"], default=None)
        words = f"{100 * self.scorers[best]['accuracy']:.0f} % of the tuples are told apart by {best}" if best else ""
        return words, rows


class Evaluation(Result):
    """A run judged by every measure there is for it: `forecast` and `pr` are dicts."""

    def _verdict(self):
        if "pr" not in self._record:  # a video model
            rows = [(f"accuracy, {name}", number(s["accuracy"]), interval(s["accuracy_ci"]))
                    for name, s in self.overall.items()]
            plain = self.overall.get("plain", {}).get("accuracy")
            return "" if plain is None else f"{100 * plain:.0f} % of the tuples are told apart by plain surprise; chance is 50 %", rows
        rows = [("VPT", number(self.vpt), interval(self.vpt_ci)), ("R2", number(self.pr["r2"]), interval(self.pr["r2_ci"])),
                ("Sym", number(self.pr["sym"]), interval(self.pr["sym_ci"])),
                ("SyMetric", number(self.pr["symetric"]), interval(self.pr["symetric_ci"]))]
        return f"{self.verdict}: {self.verdict_why}", rows


class Audit(Result):
    """Can possible and impossible clips be told apart without physics?"""

    def _verdict(self):
        return "clean: nothing tells the clips apart" if self.clean else "not clean: the clips can be told apart without physics", []


class Study(Result):
    """A sweep: how many runs are done, and `runs`, one dict per run."""

    def _rows(self):
        return self.runs

    def _verdict(self):
        return f"{len(self.runs)} runs", [(one.get("run", ""), number(one.get("evaluate", {}).get("kappa")), "") for one in self.runs]
