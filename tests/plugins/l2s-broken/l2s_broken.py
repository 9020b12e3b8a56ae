"""Fails the way plugins fail most often: something it needs is not there."""

raise RuntimeError("the licence server\nis on holiday")
