"""What a task says of itself: its document, the port that shows it, progress.json."""
