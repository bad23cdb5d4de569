"""A step, as every strategy makes it: gradients, optimizers, the learning rate, device names."""
