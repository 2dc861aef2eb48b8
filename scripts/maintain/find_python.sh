#!/bin/sh
# Print the command of the first of some Python versions that this machine has, from PATH or pyenv; nothing without one.
#
#   scripts/maintain/find_python.sh 3.13 3.12
for version in "$@"; do
  for candidate in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python; do
    if "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
      echo "$candidate"
      exit
    fi
  done
done
