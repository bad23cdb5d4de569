"""What only a machine with a GPU of NVIDIA's can prove: `python -m pytest tests/gpu` there.

It needs `nvidia-smi` and TensorFlow's GPU build (requirements/gpu.txt). No suite runs it: no
machine of CI has a GPU.
"""
