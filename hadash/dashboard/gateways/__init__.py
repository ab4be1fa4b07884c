"""The pages of Gateways: the present state of each, and its history of the last day."""
