# SPDX-License-Identifier: MIT
"""The peer: PredRNN in PyTorch, cell by cell as the published code has it, without layer norm.

    predrnn_peer.py [--compile] train|watch IMAGE PATCH LAYERS HIDDEN KERNEL BATCH ROUNDS

Prints the least CPU seconds of a step (forward and backward, no optimiser) or of watching the clips, on one thread. With --compile
torch.compile compiles a cell with its gradient.
"""
import json
import sys
import time

import torch
from torch import nn

LENGTH = 15


class Cell(nn.Module):
    def __init__(self, inputs, hidden, kernel):
        super().__init__()
        self.hidden = hidden

        def conv(i, o, k=kernel):
            return nn.Conv2d(i, o, k, padding=k // 2, bias=False)

        self.conv_x, self.conv_h = conv(inputs, 7 * hidden), conv(hidden, 4 * hidden)
        self.conv_m, self.conv_o = conv(hidden, 3 * hidden), conv(2 * hidden, hidden)
        self.conv_last = conv(2 * hidden, hidden, 1)

    def forward(self, x, h, c, m):
        n = self.hidden
        i_x, f_x, g_x, i2_x, f2_x, g2_x, o_x = torch.split(self.conv_x(x), n, dim=1)
        i_h, f_h, g_h, o_h = torch.split(self.conv_h(h), n, dim=1)
        i_m, f_m, g_m = torch.split(self.conv_m(m), n, dim=1)
        c = torch.sigmoid(f_x + f_h + 1) * c + torch.sigmoid(i_x + i_h) * torch.tanh(g_x + g_h)
        m = torch.sigmoid(f2_x + f_m + 1) * m + torch.sigmoid(i2_x + i_m) * torch.tanh(g2_x + g_m)
        both = torch.cat((c, m), 1)
        h = torch.sigmoid(o_x + o_h + self.conv_o(both)) * torch.tanh(self.conv_last(both))
        return h, c, m


class PredRNN(nn.Module):
    def __init__(self, channels, layers, hidden, kernel):
        super().__init__()
        self.hidden = hidden
        self.cells = nn.ModuleList(Cell(hidden if i else channels, hidden, kernel) for i in range(layers))
        self.last = nn.Conv2d(hidden, channels, 1, bias=False)

    def forward(self, frames):
        batch, side = frames.shape[0], frames.shape[-1]
        zero = torch.zeros(batch, self.hidden, side, side)
        h, c, m, out = [zero] * len(self.cells), [zero] * len(self.cells), zero, []
        for t in range(LENGTH - 1):
            x = frames[:, t]
            for i, cell in enumerate(self.cells):
                h[i], c[i], m = cell(x, h[i], c[i], m)
                x = h[i]
            out.append(self.last(x))
        return torch.stack(out, 1)


def main():
    compiled = "--compile" in sys.argv
    if compiled:
        sys.argv.remove("--compile")
    what, (image, patch, layers, hidden, kernel, batch, rounds) = sys.argv[1], map(int, sys.argv[2:9])
    side, channels = image // patch, patch * patch * 3
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = PredRNN(channels, layers, hidden, kernel)
    if compiled:
        for cell in model.cells:
            cell.forward = torch.compile(cell.forward)
    frames = torch.rand(batch, LENGTH, channels, side, side)
    best = float("inf")
    for step in range(rounds + 1):
        start = time.process_time()
        if what == "train":
            model.zero_grad()
            ((model(frames) - frames[:, 1:]) ** 2).mean().backward()
        else:
            with torch.no_grad():
                ((model(frames) - frames[:, 1:]) ** 2).mean((2, 3, 4))
        if step:  # the first one compiles, and chooses kernels
            best = min(best, time.process_time() - start)
    print(json.dumps({"cpu": best, "version": "PyTorch " + torch.__version__.split("+")[0]}))


main()
