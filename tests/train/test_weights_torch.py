# SPDX-License-Identifier: MIT
"""plumb import and export against PyTorch: a module with the names of PredRNN's published code, its state dict saved by torch.save, and what
plumb exports loaded back with strict names. One of the long tests; without PyTorch it is skipped."""
import numpy as np
import pytest

from program import Program
from state_dict import read_safetensors

torch = pytest.importorskip("torch")
plumb = Program()


class Cell(torch.nn.Module):
    """The ST-LSTM of [Wang17], written from its formulas."""

    def __init__(self, into, n, k, side, norm):
        super().__init__()
        self.n = n
        for name, a, b in (("conv_x", into, 7 * n), ("conv_h", n, 4 * n), ("conv_m", n, 3 * n), ("conv_o", 2 * n, n)):
            conv = torch.nn.Conv2d(a, b, k, padding=k // 2, bias=False)
            setattr(self, name, torch.nn.Sequential(conv, torch.nn.LayerNorm([b, side, side])) if norm else torch.nn.Sequential(conv))
        self.conv_last = torch.nn.Conv2d(2 * n, n, 1, bias=False)

    def forward(self, x, h, c, m):
        i, f, g, i2, f2, g2, o = self.conv_x(x).split(self.n, 1)
        hi, hf, hg, ho = self.conv_h(h).split(self.n, 1)
        mi, mf, mg = self.conv_m(m).split(self.n, 1)
        c = torch.sigmoid(f + hf + 1) * c + torch.sigmoid(i + hi) * torch.tanh(g + hg)
        m = torch.sigmoid(f2 + mf + 1) * m + torch.sigmoid(i2 + mi) * torch.tanh(g2 + mg)
        both = torch.cat([c, m], 1)
        return torch.sigmoid(o + ho + self.conv_o(both)) * torch.tanh(self.conv_last(both)), c, m


class Net(torch.nn.Module):
    def __init__(self, layers, n, patch, side, norm):
        super().__init__()
        pixels = 3 * patch * patch
        self.patch, self.n = patch, n
        self.cell_list = torch.nn.ModuleList(Cell(n if layer else pixels, n, 3, side // patch, norm) for layer in range(layers))
        self.conv_last = torch.nn.Conv2d(n, pixels, 1, bias=False)

    def predict(self, frames):
        """frames (t, height, width, 3): predictions of all but the first."""
        p, (t, height, width, _) = self.patch, frames.shape
        x = torch.from_numpy(frames).float().reshape(t, height // p, p, width // p, p, 3).permute(0, 2, 4, 5, 1, 3)
        x = x.reshape(t, 1, 3 * p * p, height // p, width // p)
        zero, out = torch.zeros(1, self.n, height // p, width // p), []
        h, c, m = [zero] * len(self.cell_list), [zero] * len(self.cell_list), zero
        for frame in x[:-1]:
            value = frame
            for layer, cell in enumerate(self.cell_list):
                h[layer], c[layer], m = cell(value, h[layer], c[layer], m)
                value = h[layer]
            y = self.conv_last(value).reshape(p, p, 3, height // p, width // p)
            out.append(y.permute(3, 0, 4, 1, 2).reshape(height, width, 3))
        return torch.stack(out).detach().numpy()


@pytest.mark.parametrize("norm", [False, True])
def test_torch_and_plumb_agree_both_ways(norm, tmp_path):
    torch.manual_seed(2)
    net = Net(4, 16, 4, 32, norm)
    torch.save({"net_param": net.state_dict()}, tmp_path / "model.pth")
    run = tmp_path / "run"
    plumb.run("import", "predrnn", tmp_path / "model.pth", "--out", run, "--set", "image=32")
    plumb.run("rollout", run, "--world", "rooms/solidity", "--count", 2, "--out", tmp_path / "r.npz")
    with np.load(tmp_path / "r.npz") as file:
        for clip, got in zip(file["truth"].reshape(-1, *file["truth"].shape[2:])[::3], file["prediction"].reshape(-1, *file["prediction"].shape[2:])[::3]):
            assert np.abs(net.predict(clip / 255.0) - got).max() < 1e-4
    plumb.run("export", run, "--out", tmp_path / "back.safetensors")
    back, _ = read_safetensors(tmp_path / "back.safetensors")
    other = Net(4, 16, 4, 32, norm)
    other.load_state_dict({name: torch.from_numpy(x.copy()) for name, x in back.items()}, strict=True)
    assert all(torch.equal(a, b) for a, b in zip(net.state_dict().values(), other.state_dict().values()))


def test_layers_of_torch_nn_take_the_layouts_of_the_other_models(tmp_path):
    plumb.run("train", "hgn++", "--world", "mass-spring", "--preset", "tiny", "--steps", 1, "--out", tmp_path / "run")
    plumb.run("export", tmp_path / "run", "--out", tmp_path / "w.safetensors")
    (ours, _), (theirs, _) = (read_safetensors(tmp_path / f) for f in ("run/weights.safetensors", "w.safetensors"))
    name = next(n for n, x in ours.items() if n.endswith(".w") and x.ndim == 2)
    dense = torch.nn.Linear(*ours[name].shape)
    dense.load_state_dict({k: torch.from_numpy(theirs[f"{name[:-2]}.{k}"].copy()) for k in ("weight", "bias")})
    x = np.random.default_rng(1).normal(size=(5, ours[name].shape[0])).astype(np.float32)
    assert np.abs(dense(torch.from_numpy(x)).detach().numpy() - (x @ ours[name] + ours[name[:-2] + ".b"])).max() < 1e-5
