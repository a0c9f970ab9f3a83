"""The validation of predictions on this machine: predicted and measured locks and changes."""
