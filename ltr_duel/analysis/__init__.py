"""Tables, plots and the report. Reads results; runs nothing."""
