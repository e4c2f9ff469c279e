"""Other people's instances, read from the folder of reference data: none of it is kept in this repository."""
