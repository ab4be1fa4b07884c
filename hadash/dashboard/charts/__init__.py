"""Charts: functions from rows to Plotly's data and a table with the same content. Pure; ``static/charts.js`` draws."""
