"""Charts: rows → what Plotly draws, and the table that says the same. Pure; ``static/charts.js`` draws."""
