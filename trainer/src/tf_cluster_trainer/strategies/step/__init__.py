"""What all strategies share of a step: gradients, optimizers, the learning rate, device names."""
