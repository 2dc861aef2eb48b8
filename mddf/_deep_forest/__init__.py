"""Deep forests for practice: members, layers and leaf sizes chosen by cross-validation."""
