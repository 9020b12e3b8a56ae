"""A policy as a package: a checkpoint file and a hook that says where it is."""
