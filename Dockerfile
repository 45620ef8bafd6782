# accelbench with PyTorch and NumPy for a CPU, or with CUDA:
#
#   docker build --tag accelbench .
#   docker run --rm --volume "$PWD:/work" accelbench run quick
#
#   docker build --tag accelbench:cuda --build-arg ACCELERATOR=cuda .
#   docker run --rm --gpus all --volume "$PWD:/work" accelbench:cuda run quick
#
# Results come to ./results. hadolint has checked this file; nobody has built or run it yet.
FROM python:3.12-slim

# cpu or cuda
ARG ACCELERATOR=cpu

# git: a result names the commit of the folder in which it was made; g++: torch.compile compiles with it.
# Debian removes a version when it publishes the next one, so none is pinned.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ git \
    && rm -rf /var/lib/apt/lists/*

COPY . /src
SHELL ["/bin/bash", "-o", "errexit", "-o", "pipefail", "-c"]
# PyPI has PyTorch's wheels for CUDA, which bring CUDA's libraries. Those for a CPU have an index of their own.
RUN case "$ACCELERATOR" in \
        cpu) extras=report,numpy,torch; export PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu ;; \
        cuda) extras=report,numpy,torch,cupy ;; \
        *) echo "ACCELERATOR=$ACCELERATOR: expected cpu or cuda" >&2; exit 2 ;; \
    esac \
    && pip install --no-cache-dir --constraint /src/constraints.txt "/src[$extras]"

# What NVIDIA's container toolkit gives to the container; without a GPU they mean nothing.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility

# --user "$(id -u):$(id -g)" makes the results yours; the caches of such a user lie here.
ENV HOME=/tmp/home
WORKDIR /work
ENTRYPOINT ["accelbench"]
CMD ["run", "quick"]
