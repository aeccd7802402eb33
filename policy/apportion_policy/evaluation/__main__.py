"""The program that the child process runs. As a file of this package its frames are not taken for the author's."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # Behind everything else: of use only where the package is run from a checkout that is not installed.
    packages = Path(__file__).parents[2]
    sys.path += [str(packages), str(packages.with_name("api"))]
    from apportion_policy.evaluation.startup import close_inherited, defer_package_metadata

    close_inherited(int(sys.argv[1]), int(sys.argv[2]))
    defer_package_metadata()
    from apportion_policy.evaluation.child import main

    main(sys.argv[1:])
