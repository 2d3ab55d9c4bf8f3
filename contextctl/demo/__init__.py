"""What ``contextctl demo`` runs on: a recorded task whose window fills.

``trace.jsonl`` is one trace in OpenAI chat form, written for this project: 30 steps of a bug hunt
with long logs, 25,600 tokens (o200k_base) when nothing is left out. Its constraints stand in the
first message and are needed at the last steps. People, hosts and numbers in it are invented.
In a window of 16,384 tokens with 2,048 kept for the answer it overflows at step 18.
"""
