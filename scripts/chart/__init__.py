"""What the Helm chart has of rules, dashboards and the comments of its values. Not part of the wheel."""
