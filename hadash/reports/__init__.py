"""Reports: their content, recipients and schedules, and their forms as mail, page, text and PDF."""
