"""What the Helm chart cannot read from outside of it: rules, dashboards, the schema of its values, its README. Not part of the wheel."""
