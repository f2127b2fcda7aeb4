#!/bin/sh
# Renews the hashed locks, and pip's wheel, to the newest versions that pyproject.toml allows.
# No index address is written: the locks install from whichever index pip is configured for.
set -eu
pip() {
    .venv/bin/python -I "$(echo tools/pip-*.whl)/pip" "$@" # a pattern does not look into a file
}
pip install --quiet --require-hashes --only-binary :all: --upgrade --target .tools -r requirements-setup.lock

compile() {
    UV_PYTHON_DOWNLOADS=never .tools/bin/uv pip compile --quiet --upgrade --generate-hashes --universal \
        --python .venv/bin/python --python-version 3.11 --no-emit-index-url --no-annotate --no-header "$@"
}
compile --output-file requirements.lock pyproject.toml
compile --output-file requirements-dev.lock --constraints requirements.lock --group dev pyproject.toml
printf 'hatchling\neditables\n' | compile --output-file requirements-build.lock -
printf 'pip\nuv\n' | compile --output-file requirements-setup.lock -

pip download --quiet --require-hashes --no-deps --only-binary :all: --dest .tools/wheels -r requirements-setup.lock
rm -f tools/pip-*.whl
mv .tools/wheels/pip-*.whl tools/
rm -rf .tools/wheels
