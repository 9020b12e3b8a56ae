"""The learned policy: its network, in a form to train and in forms to search with."""
