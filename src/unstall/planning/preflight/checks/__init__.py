"""One file per check. The docstring is the page; `look(context) -> CheckResult`.

`NEEDS` names checks that come before; where one of them refuses or does not know, this one does not know either. `AFTER` only
orders. `IS_QUICK` says whether `unstall train` asks it, too, before it begins: then it takes seconds at most.
"""

from unstall.base.registry import Registry

CHECKS = Registry(__name__, "check")
