"""Training layers of members: tasks, trainers, checkpoints."""
