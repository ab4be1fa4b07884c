"""Notices: tell people and channels about events, by mail or by posts, each event once and without message storms."""
