# SPDX-License-Identifier: MIT
# Sourced by the benchmarks that need PyTorch or JAX. It sets `peers` to the Python of a virtual environment with the
# newest releases on PyPI. Delete build/bench-peers to get newer ones. The Linux wheel of PyTorch brings the CUDA
# libraries (5 GB); it is run on the processor.
peers=$root/build/bench-peers/bin/python
if [ ! -e "$root/build/bench-peers/ready" ]; then
    echo "bench: making $root/build/bench-peers" >&2
    python3 -m venv "$root/build/bench-peers" >&2
    "$peers" -m pip install --quiet --upgrade torch jax numpy >&2
    touch "$root/build/bench-peers/ready"
fi
