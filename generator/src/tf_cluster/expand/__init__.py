"""From params to the chart's values, and the values file."""
