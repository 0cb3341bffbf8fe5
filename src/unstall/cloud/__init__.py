"""Google Cloud, Kubernetes: what this machine is (`checking`), which one a training needs (`planning`), a job on it (`asking`).

Standard library and the project's own seams; Google's client library is loaded by `vertex` alone, inside its functions.
"""
