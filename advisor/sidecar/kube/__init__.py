"""What the sidecar reads of a Kubernetes cluster: lists, watches and Pod logs, by read verbs only."""
