"""What people look at: figures of a predicted motion, a report in one HTML file, the run folder."""
