# The packaged scheduler: `docker build -t apportion .`, then run it by the digest that the registry gives.
# The version is exact; where images are mirrored, add the mirror's digest: --build-arg PYTHON=…/python@sha256:…
ARG PYTHON=python:3.13.7-slim-bookworm

FROM ${PYTHON} AS build
WORKDIR /src
RUN python -m venv /opt/apportion
# Every package is pinned with its hash; hatchling, which builds the wheel, is among them.
COPY locks/scheduler.txt locks/scheduler.txt
RUN /opt/apportion/bin/pip install --no-cache-dir --no-deps --require-hashes --requirement locks/scheduler.txt
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY api api
COPY policy policy
COPY compiler compiler
COPY runtime runtime
COPY review review
COPY cli cli
# A package holds a link to the pages of the rules.
COPY docs/diagnostics docs/diagnostics
# The build context has no git: `docker build --build-arg VERSION=1.2.3 .` names the version.
ARG VERSION=
RUN SETUPTOOLS_SCM_PRETEND_VERSION=$VERSION \
    /opt/apportion/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM ${PYTHON}
COPY --from=build /opt/apportion /opt/apportion
ENV PATH=/opt/apportion/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# No user of the image's own files.
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["apportion"]
CMD ["scheduler"]
