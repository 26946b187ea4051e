"""What all rooms share: files that appear whole, fields that a stranger wrote, locks that
survive a fork. Imports nothing of ours."""
