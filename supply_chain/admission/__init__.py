"""The webhook: from an AdmissionReview to an answer with a reason."""
