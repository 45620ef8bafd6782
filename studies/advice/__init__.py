"""How well `accelbench advise` decides, beside random search and Optuna, where every configuration is measured."""
