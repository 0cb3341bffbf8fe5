"""Google Cloud: what this machine is (`checking`), which one a training needs (`planning`), a job on it (`jobs`, `submitting`).

Standard library and the project's own seams; Google's client library is loaded by `jobs` and `submitting` alone.
"""
