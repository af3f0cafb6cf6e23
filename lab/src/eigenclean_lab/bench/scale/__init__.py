"""`eigenclean bench scale`: streaming and Dask against memory, on data that need not fit into it."""
