"""What driver and recorder say to each other, the start of a recorder, and the driver's end."""
