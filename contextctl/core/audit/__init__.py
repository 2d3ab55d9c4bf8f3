"""What a compaction kept, dropped and why."""
