"""Functions that may crash, hang or eat memory, run in processes of their own."""
