"""What all rooms share: files that appear whole, fields that somebody else wrote, locks that
survive a fork. Imports nothing of ours."""
