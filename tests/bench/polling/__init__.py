"""What 1,000 tasks cost the chief's supervisor: it answers them, and looks after them."""
