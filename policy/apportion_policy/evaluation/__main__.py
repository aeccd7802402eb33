"""The entry point of the child process. Its frames belong to this package, so they are not taken for the author's."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # Last on the path: required only if the package runs from a checkout that is not installed.
    packages = Path(__file__).parents[2]
    sys.path += [str(packages), str(packages.with_name("api"))]
    from apportion_policy.evaluation.startup import close_inherited, defer_package_metadata

    close_inherited(int(sys.argv[1]), int(sys.argv[2]))
    defer_package_metadata()
    from apportion_policy.evaluation.child import main

    main(sys.argv[1:])
