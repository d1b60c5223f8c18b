"""What a motion asks of a person: low back, joint strength, the NIOSH lifting equation."""
