# SPDX-License-Identifier: MIT
"""Results: small objects that hold what the program prints with --json, and arrays beside it."""
import html
import json

from ._native import PlumbError


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
            text.append(f"<tr><td style='text-align:left'>{html.escape(name)}</td><td>{html.escape(value)}</td>"
                        f"<td style='text-align:left'>{html.escape(interval)}</td></tr>")
        text.append("</table>")
        if self._figure:
            from ._report import drawing
            try:
                text.append(drawing(self._figure, self._text, self._kept[0] if self._kept else {})())
            except PlumbError as why:  # a verdict without a figure is better than none
                text.append(f"<p>{html.escape(str(why))}</p>")
        return "".join(text)


def number(value):
    return "undefined" if value is None else f"{value:.4g}"


def interval(value):
    return f"95 % [{value[0]:.4g}, {value[1]:.4g}]" if value and None not in value else ""


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
        return self.why, rows


class Kappa(Result):
    """kappa and the verdict of plumb's own score: canonical is 1, 0, or None where the data do not determine it."""

    def _verdict(self):
        rows = [(name, number(self._record[key]), interval(self._record.get(key + "_ci")))
                for name, key in (("canonical", "canonical"), ("kappa", "kappa"), ("R2 of the state", "r2_state"))]
        return self.canonical_why, rows


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

    def _verdict(self):
        rows = [(f"R2, {one['name']}", number(one["linear"]["r2"]), interval(one["linear"]["r2_ci"]))
                for one in self.targets if one["linear"]]
        found = {kind: [one["name"] for one in self.targets if one["found"] == kind] for kind in ("linear", "nonlinear", "none")}
        words = [f"{text}: {', '.join(found[kind])}" for kind, text in (("linear", "read out linearly"),
                 ("nonlinear", "non-linearly only"), ("none", "not found")) if found[kind]]
        return "; ".join(words), rows


class Surprise(Result):
    """Accuracy and relative surprise by scorer."""

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
            return "", rows
        rows = [("VPT", number(self.vpt), interval(self.vpt_ci)), ("R2", number(self.pr["r2"]), interval(self.pr["r2_ci"])),
                ("Sym", number(self.pr["sym"]), interval(self.pr["sym_ci"])),
                ("SyMetric", number(self.pr["symetric"]), interval(self.pr["symetric_ci"]))]
        return f"{self.verdict}: {self.verdict_why}", rows
