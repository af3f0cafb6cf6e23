"""`eigenclean.audit`: what `eigenclean detect` does, as one call, and the object that shows the result."""

from eigenclean.workflows.audit.result import Audit
from eigenclean.workflows.audit.review_server import ReviewServer
from eigenclean.workflows.audit.run import audit
from eigenclean.workflows.audit.suspect_table import SuspectTable

__all__ = ["Audit", "ReviewServer", "SuspectTable", "audit"]
