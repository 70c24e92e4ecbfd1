"""The sidecar: watches what the KubeRay operator watches, follows its log, and tells load by priority and by key."""
