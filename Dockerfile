# An image that trains: docker build -t unstall . && docker run unstall --model ssd_tiny --epochs 1
#
#   --build-arg EXTRAS=data,tensorflow,gcs          another backend, S3, …: the extras of pyproject.toml
#   --build-arg PACKAGES="jax[cuda13]"              beside them: here JAX for NVIDIA cards, whose driver the machine has
#   --build-arg BACKEND=tensorflow                  that Keras runs on

ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS build
ARG EXTRAS=data,jax,gcs
ARG PACKAGES=""
RUN python -m venv /opt/unstall
ENV PATH=/opt/unstall/bin:$PATH
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
# Not quoted: several packages are several words.
# hadolint ignore=DL3013,SC2086
RUN python -m pip install --no-cache-dir --disable-pip-version-check ".[${EXTRAS}]" ${PACKAGES}

FROM python:${PYTHON}-slim
ARG BACKEND=jax
RUN useradd --create-home --uid 1000 trainer
COPY --from=build /opt/unstall /opt/unstall
ENV PATH=/opt/unstall/bin:$PATH \
    KERAS_BACKEND=${BACKEND} \
    PYTHONUNBUFFERED=1
# By its number: Kubernetes must see that it is not root.
USER 1000
WORKDIR /home/trainer
ENTRYPOINT ["unstall", "train"]
