"""The pages of Gateways: each as it is now, and over the last day."""
