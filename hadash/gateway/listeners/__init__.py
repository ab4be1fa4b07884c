"""The addresses that clients come to: how a listener knows who they are, and the accounts that hadash knows."""
