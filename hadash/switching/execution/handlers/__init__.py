"""What the commands of stages do on real servers, by server. Importing a module registers its handlers."""
